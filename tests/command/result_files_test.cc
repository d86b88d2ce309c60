// The files that commands write: checked before, without a trace, and written with their folders.
#include "kiln/command/result_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ResultFiles : public testing::Test {
 protected:
  std::string In(const std::string& name) const { return (folder_.path() / name).string(); }
  // The number of files and folders in the test's folder.
  int64_t Count() const {
    return std::distance(fs::recursive_directory_iterator(folder_.path()), {});
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-result-files");
};

TEST_F(ResultFiles, AreCheckedWithoutATrace) {
  EXPECT_EQ(CheckOutput(In("a.json")), OkStatus());
  EXPECT_EQ(CheckOutput(In("new/deep/a.json")), OkStatus());
  EXPECT_EQ(CheckOutputFolder(In("other")), OkStatus());
  EXPECT_EQ(Count(), 0);
  EXPECT_THAT(MessageOf(CheckOutput(folder_.path().string())), HasSubstr("is a directory"));
  ASSERT_EQ(WriteFile(In("file"), "1"), OkStatus());
  EXPECT_THAT(MessageOf(CheckOutput(In("file/a.json"))), HasSubstr("its folder cannot be made"));
  EXPECT_EQ(CheckOutput(In("file")), OkStatus());
  EXPECT_EQ(*ReadFile(In("file"), 10), "1");
  EXPECT_EQ(Count(), 1);
}

TEST_F(ResultFiles, NoFileIsWrittenTwiceOrReadAsWell) {
  ASSERT_EQ(WriteFile(In("read.onnx"), "1"), OkStatus());
  const std::vector<fs::path> inputs = {In("read.onnx"), ""};
  EXPECT_EQ(CheckOutputs({In("a"), "", "", In("b")}, inputs), OkStatus());
  // Under another name, too.
  fs::create_directory(In("sub"));
  EXPECT_THAT(MessageOf(CheckOutputs({In("a"), In("sub/../a")}, inputs)),
              HasSubstr("two outputs go to one file"));
  EXPECT_THAT(MessageOf(CheckOutputs({In("sub/../read.onnx")}, inputs)),
              HasSubstr("is read as well as written"));
  EXPECT_THAT(MessageOf(CheckOutputs({"-", "-"})), HasSubstr("two outputs go to one file"));
}

TEST_F(ResultFiles, ArchivesHaveTheirName) {
  EXPECT_EQ(CheckArchive("--outputs", ""), OkStatus());
  EXPECT_EQ(CheckArchive("--outputs", In("a.npz")), OkStatus());
  EXPECT_THAT(MessageOf(CheckArchive("--outputs", In("a.npy"))), HasSubstr("name it FILE.npz"));
  EXPECT_THAT(MessageOf(CheckArchive("--outputs", "-")), HasSubstr("goes to a file"));
}

TEST_F(ResultFiles, JsonGoesToItsFileOrInPlaceOfTheText) {
  std::ostringstream out;
  EXPECT_EQ(WriteResults(out, "", "text", "{}"), OkStatus());
  EXPECT_EQ(WriteResults(out, In("new/a.json"), "more", "{1}"), OkStatus());
  EXPECT_EQ(out.str(), "textmore");
  EXPECT_EQ(*ReadFile(In("new/a.json"), 10), "{1}");
  EXPECT_EQ(WriteResults(out, "-", "text", "{2}"), OkStatus());
  EXPECT_EQ(out.str(), "textmore{2}");
}

}  // namespace
}  // namespace kiln::cli
