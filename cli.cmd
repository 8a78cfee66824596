@echo off
rem The command from the checkout on Windows. Its home is the checkout's own once `npm start` has made one, else the user's.
setlocal
if not exist "%~dp0dist\cli.js" (
  echo error: The command is not built yet.>&2
  echo hint: npm run build>&2
  exit /b 1
)
if not defined SERVICE_HOME if exist "%~dp0.service\" set "SERVICE_HOME=%~dp0.service"
node "%~dp0dist\cli.js" %*
exit /b %ERRORLEVEL%
