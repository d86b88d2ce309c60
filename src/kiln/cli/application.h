// The program `kiln` as a function, so that tests can call it.
#ifndef KILN_CLI_APPLICATION_H_
#define KILN_CLI_APPLICATION_H_

#include <ostream>
#include <string>
#include <vector>

namespace kiln::cli {

// The exit codes of `kiln`: success, wrong input, wrong command line.
enum ExitCode { kExitOk = 0, kExitError = 1, kExitUsage = 2 };

// Runs `kiln`. `arguments` excludes the program's name. Results go to `out`; an error is a single
// line "kiln: <message>" on `err`. Progress is drawn if `err_is_terminal`.
//   returns  an ExitCode
int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
         bool err_is_terminal);

}  // namespace kiln::cli

#endif  // KILN_CLI_APPLICATION_H_
