// Folders that Kiln fills: what an emission leaves of the one before, and what it never touches.
#include "kiln/hardware/rtl_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/hardware/verilog_text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

RtlProject ProjectOf(const std::string& top, const std::string& module, const std::string& other) {
  RtlProject project;
  project.top = top;
  project.top_text = "module " + top + ";\n  " + module + " unit ();\nendmodule\n";
  project.testbench = {"kiln_axi_lite.h"};
  project.others = {{other, "of " + top}};
  return project;
}

class RtlProjectFolder : public testing::Test {
 protected:
  fs::path Design() const { return folder_.path() / "design"; }
  bool Has(const std::string& file) const { return fs::exists(Design() / file); }
  void Write(const RtlProject& project) const {
    const Status status = WriteRtlProject(project, Design());
    ASSERT_TRUE(status.ok()) << status;
  }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-rtl-project");
};

TEST_F(RtlProjectFolder, KeepsNothingOfAnEarlierDesign) {
  Write(ProjectOf("first_top", "kiln_fifo", "memory.hex"));
  ASSERT_TRUE(AddToRtlProject(Design(), "kernels.txt", "of first_top").ok());
  ASSERT_TRUE(WriteFile(Design() / "notes.txt", "somebody's").ok());
  fs::create_directories(Design() / "build");
  ASSERT_TRUE(WriteFile(Design() / "build" / "simulate", "make's").ok());
  EXPECT_TRUE(Has("rtl/kiln_fifo.sv"));

  Write(ProjectOf("second_top", "kiln_pulse_delay", "memory.bin"));
  for (const char* file : {"first_top.sv", "rtl/kiln_fifo.sv", "memory.hex", "kernels.txt"})
    EXPECT_FALSE(Has(file)) << file;
  for (const char* file : {"second_top.sv", "rtl/kiln_pulse_delay.sv", "memory.bin", "testbench/kiln_axi_lite.h",
                           "Makefile", "notes.txt", "build/simulate"}) {
    EXPECT_TRUE(Has(file)) << file;
  }
}

// Whatever stands in the list: nothing outside of the folder, and no folder.
TEST_F(RtlProjectFolder, RemovesNothingElse) {
  Write(ProjectOf("first_top", "kiln_fifo", "memory.hex"));
  const fs::path victim = folder_.path() / "victim";
  ASSERT_TRUE(WriteFile(victim, "somebody's").ok());
  fs::create_directories(Design() / "pictures");
  ASSERT_TRUE(
      WriteFile(Design() / "emitted.txt", "../victim\nrtl/../../victim\n" + victim.string() + "\npictures\nabsent\n\n")
          .ok());
  Write(ProjectOf("second_top", "kiln_pulse_delay", "memory.bin"));
  EXPECT_TRUE(fs::exists(victim));
  EXPECT_TRUE(Has("pictures"));
}

TEST_F(RtlProjectFolder, IsADesignsOrOneOfDesigns) {
  EXPECT_TRUE(CheckRtlFolders(Design()).ok());
  Write(ProjectOf("top", "kiln_fifo", "memory.hex"));
  EXPECT_TRUE(CheckRtlFolders(Design()).ok());
  EXPECT_TRUE(CheckRtlFolders(folder_.path()).ok());  // holds `design` alone
  EXPECT_FALSE(CheckRtlFolder(folder_.path()).ok());
  ASSERT_TRUE(WriteFile(folder_.path() / "letter.txt", "somebody's").ok());
  EXPECT_THAT(MessageOf(CheckRtlFolders(folder_.path())), HasSubstr("holds files that are not of an earlier emission"));
}

TEST(VerilogText, FindsModulesByName) {
  const std::string text = WithoutComments(
      "// module none;\n/* module no; */ module one #(parameter int A = 1) ();\n  two #(.B(A)) x ();\nendmodule\n"
      "module two #(parameter B = 2);\nendmodule");
  EXPECT_EQ(ModuleIn(text, "none"), std::nullopt);
  EXPECT_EQ(ModuleIn(text, "no"), std::nullopt);
  EXPECT_EQ(ModuleIn(text, "x"), std::nullopt);
  EXPECT_THAT(NamesIn(*ModuleIn(text, "one")), testing::Contains("A"));
  EXPECT_EQ(*ModuleIn(text, "two"), "two #(parameter B = 2);\n");
  EXPECT_EQ(ModuleIn("module cut", "cut").value_or(""), "cut");
}

}  // namespace
}  // namespace kiln::hardware
