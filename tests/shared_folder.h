// Access to trained networks and data sets that are too large for the repository. Tests that need
// them are skipped if they are absent.
#ifndef KILN_TESTS_SHARED_FOLDER_H_
#define KILN_TESTS_SHARED_FOLDER_H_

#include <cstdlib>
#include <filesystem>

namespace kiln {

// Returns the folder named by the environment variable KILN_SHARED, else ../shared beside the
// sources; empty if neither exists. Tests run in the root of the sources.
inline std::filesystem::path SharedFolder() {
  const char* named = std::getenv("KILN_SHARED");
  const std::filesystem::path folder = named != nullptr ? named : "../shared";
  std::error_code error;
  return std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

}  // namespace kiln

#endif  // KILN_TESTS_SHARED_FOLDER_H_
