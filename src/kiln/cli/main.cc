// The entry point of `kiln`.
#include <unistd.h>

#include <iostream>

#include "kiln/cli/application.h"
#include "kiln/support/process.h"

int main(int argc, char** argv) {
  // Interrupted runs must not leave temporary files or child processes behind.
  kiln::CleanUpOnSignals();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int code = kiln::cli::Main(arguments, std::cout, std::cerr, isatty(STDERR_FILENO) == 1);
  // A full disk or a closed pipe must not look like success.
  std::cout.flush();
  if (!std::cout && code == kiln::cli::kExitOk) {
    std::cerr << "kiln: standard output could not be written\n";
    return kiln::cli::kExitError;
  }
  return code;
}
