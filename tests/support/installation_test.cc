// Tests of the folder in which Kiln finds its own files.
#include "kiln/support/installation.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

// Of a build tree. What an installed program finds: tests/install/run.
TEST(Installation, BuildTreesHaveTheSourceFolder) {
  const auto folder = DataFolder();
  ASSERT_TRUE(folder.has_value());
  EXPECT_TRUE(
      std::filesystem::equivalent(*folder, std::filesystem::current_path()));  // where tests run
  EXPECT_FALSE(std::filesystem::is_symlink(*folder));
}

}  // namespace
}  // namespace kiln
