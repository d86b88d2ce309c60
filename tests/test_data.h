// Access to the trained networks, images and vectors in the repository (tests/data/README.md).
#ifndef KILN_TESTS_TEST_DATA_H_
#define KILN_TESTS_TEST_DATA_H_

#include <filesystem>

namespace kiln {

// Returns the path of a file or folder in tests/data. Tests run in the root of the sources.
inline std::filesystem::path TestData(const std::filesystem::path& name) {
  return std::filesystem::path("tests/data") / name;
}

}  // namespace kiln

#endif  // KILN_TESTS_TEST_DATA_H_
