// Calls the program's main function in tests.
#ifndef KILN_TESTS_CLI_CALL_H_
#define KILN_TESTS_CLI_CALL_H_

#include <sstream>
#include <string>
#include <vector>

#include "kiln/cli/application.h"

namespace kiln::cli {

// The exit code of a call and what it wrote to standard output and standard error.
struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome Call(const std::vector<std::string>& arguments, bool terminal = false) {
  std::ostringstream out, err;
  const int code = Main(arguments, out, err, terminal);
  return {code, out.str(), err.str()};
}

}  // namespace kiln::cli

#endif  // KILN_TESTS_CLI_CALL_H_
