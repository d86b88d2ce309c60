// Trained networks and data sets that are too large for the repository; tests that need them skip where they are
// absent.
#ifndef KILN_TESTS_SHARED_FOLDER_H_
#define KILN_TESTS_SHARED_FOLDER_H_

#include <cstdlib>
#include <filesystem>

namespace kiln {

// The folder that the environment variable KILN_SHARED names, else ../shared beside the sources; empty when neither is
// there. Tests run in the root of the sources.
inline std::filesystem::path SharedFolder() {
  const char* named = std::getenv("KILN_SHARED");
  const std::filesystem::path folder = named != nullptr ? named : "../shared";
  std::error_code error;
  return std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

}  // namespace kiln

#endif  // KILN_TESTS_SHARED_FOLDER_H_
