#include "kiln/support/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/file.h"

namespace kiln {
namespace {

using ::testing::HasSubstr;

TEST(Process, KeepsWhatAProgramPrints) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto log = folder->path() / "log";
  ASSERT_TRUE(RunProgram({"sh", "-c", "echo out; echo err >&2; cat"}, log).ok());
  EXPECT_EQ(*ReadFile(log), "out\nerr\n");
}

TEST(Process, SaysHowAProgramFailed) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto log = folder->path() / "log";
  const Status code = RunProgram({"sh", "-c", "echo no luck; exit 3"}, log);
  EXPECT_THAT(MessageOf(code), HasSubstr("sh: ended with code 3: ... no luck"));
  EXPECT_THAT(MessageOf(RunProgram({"sh", "-c", "kill -9 $$"}, log)), HasSubstr("killed by signal 9"));
  EXPECT_THAT(MessageOf(RunProgram({"kiln-no-such-program"}, log)), HasSubstr("cannot be started"));
}

TEST(Process, TemporaryFoldersGoWithTheirContents) {
  std::filesystem::path path;
  {
    auto folder = TemporaryFolder::Create("kiln-test");
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    ASSERT_TRUE(WriteFile(path / "file", "text").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace kiln
