-- Since when an instance of a service that another one took over from is asked to end. The job that asked has ended, and a later one
-- looks whether the instance has. A new column without a default: no lock that anybody waits for.
alter table control.pods add column draining_since timestamptz;
