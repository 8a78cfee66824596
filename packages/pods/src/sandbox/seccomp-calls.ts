/**
 * Numbers of a system call: on x86-64, and in the kernel's generic table (arm64). Null where the call does not exist.
 */
export type CallNumbers = readonly [x64: number | null, arm64: number | null];

/**
 * Calls denied to every program of a pod. They reach outside its namespaces or expose large kernel subsystems that no
 * program needs. Container runtimes deny the same calls.
 */
export const DENIED_CALLS = {
  // system administration: modules, kexec, power, swap, accounting, clocks, log, hardware
  create_module: [174, null],
  init_module: [175, 105],
  delete_module: [176, 106],
  get_kernel_syms: [177, null],
  query_module: [178, null],
  finit_module: [313, 273],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  syslog: [103, 116],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  // other processes: their memory, files and kernel information
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  perf_event_open: [298, 241],
  setns: [308, 268],
  // keyrings are shared by all processes with the same user id and have no namespace
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // file access by handle, which bypasses paths
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  // programs in the kernel, and calls that bypass this filter
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  // the machine controls memory placement
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  // obsolete calls
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  _sysctl: [156, null],
  vhangup: [153, 58],
  nfsservctl: [180, 42],
} as const satisfies Readonly<Record<string, CallNumbers>>;

/** Calls additionally denied to the application's code. A pod needs them to create the inner sandbox. */
export const DENIED_CALLS_OF_CODE = {
  unshare: [272, 97],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  statmount: [457, 457],
  listmount: [458, 458],
} as const satisfies Readonly<Record<string, CallNumbers>>;

/** Calls that are decided by an argument. */
export const CHECKED_CALLS = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  personality: [135, 92],
  ioctl: [16, 29],
} as const satisfies Readonly<Record<string, CallNumbers>>;

/** Newest reviewed call (`mseal`). Calls that newer kernels add do not exist in a pod. */
export const LAST_CALL = 462;
/** Numbers between the old tables and the shared one. They belong to 32-bit systems and some later calls. */
export const UNUSED_CALLS = { x64: [335, 423], arm64: [295, 423] } as const;
