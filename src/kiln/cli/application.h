// The program `kiln`, callable from tests.
#ifndef KILN_CLI_APPLICATION_H_
#define KILN_CLI_APPLICATION_H_

#include <ostream>
#include <string>
#include <vector>

namespace kiln::cli {

enum ExitCode { kExitOk = 0, kExitError = 1, kExitUsage = 2 };

// `arguments` without the program's name. Results go to `out`; an error is one line "kiln: <message>" on `err`.
//   returns  0; 1 when the input is at fault; 2 when the command line is
int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
         bool err_is_terminal);

}  // namespace kiln::cli

#endif  // KILN_CLI_APPLICATION_H_
