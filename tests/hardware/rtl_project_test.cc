// Tests of folders that Kiln fills: which files of an earlier emission remain, and which files are
// never touched.
#include "kiln/hardware/rtl_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "kiln/hardware/verilog_text.h"
#include "kiln/support/budgets.h"
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
  RtlProject first = ProjectOf("first_top", "kiln_fifo", "memory.hex");
  first.guide.emplace().kernels = "of first_top";
  Write(first);
  EXPECT_EQ(*ReadFile(Design() / "kernels.txt"), "of first_top");
  EXPECT_THAT(*ReadFile(Design() / "README.md"), HasSubstr("| `kernels.txt` | the kernels of"));
  ASSERT_TRUE(WriteFile(Design() / "notes.txt", "somebody's").ok());
  fs::create_directories(Design() / "build");
  ASSERT_TRUE(WriteFile(Design() / "build" / "simulate", "make's").ok());
  EXPECT_TRUE(Has("rtl/kiln_fifo.sv"));

  Write(ProjectOf("second_top", "kiln_pulse_delay", "memory.bin"));
  for (const char* file : {"first_top.sv", "rtl/kiln_fifo.sv", "memory.hex", "kernels.txt"})
    EXPECT_FALSE(Has(file)) << file;
  for (const char* file :
       {"second_top.sv", "rtl/kiln_pulse_delay.sv", "memory.bin", "testbench/kiln_axi_lite.h",
        "Makefile", "notes.txt", "build/simulate"}) {
    EXPECT_TRUE(Has(file)) << file;
  }
}

// A module that the emitter wrote for one design stands beside the top, takes part in the choice of
// the library's modules, and comes before the top in the list of sources.
TEST_F(RtlProjectFolder, HasModulesOfOneDesignAndFilesInFolders) {
  RtlProject project = ProjectOf("first_top", "first_stage", "images/weights.hex");
  project.modules = {{"first_stage", "module first_stage;\n  kiln_fifo unit ();\nendmodule\n"}};
  Write(project);
  for (const char* file :
       {"first_top.sv", "first_stage.sv", "rtl/kiln_fifo.sv", "images/weights.hex"}) {
    EXPECT_TRUE(Has(file)) << file;
  }
  const auto list = ReadFile(Design() / "filelist.f");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_LT(list->find("rtl/kiln_fifo.sv\n"), list->find("first_stage.sv\n"));
  EXPECT_LT(list->find("first_stage.sv\n"), list->find("first_top.sv\n"));

  // Another design leaves none of them, and writes through no link.
  Write(ProjectOf("second_top", "kiln_pulse_delay", "memory.hex"));
  for (const char* file : {"first_stage.sv", "images/weights.hex"}) EXPECT_FALSE(Has(file)) << file;
  fs::remove_all(Design() / "images");
  fs::create_directories(folder_.path() / "elsewhere");
  fs::create_directory_symlink(folder_.path() / "elsewhere", Design() / "images");
  EXPECT_FALSE(WriteRtlProject(project, Design()).ok());
  EXPECT_TRUE(fs::is_empty(folder_.path() / "elsewhere"));
}

// Whatever stands in the list: nothing outside of the folder, and no folder.
TEST_F(RtlProjectFolder, RemovesNothingElse) {
  Write(ProjectOf("first_top", "kiln_fifo", "memory.hex"));
  const fs::path victim = folder_.path() / "victim";
  ASSERT_TRUE(WriteFile(victim, "somebody's").ok());
  fs::create_directories(Design() / "pictures");
  ASSERT_TRUE(WriteFile(Design() / "emitted.txt", "../victim\nrtl/../../victim\n" +
                                                      victim.string() + "\npictures\nabsent\n\n")
                  .ok());
  Write(ProjectOf("second_top", "kiln_pulse_delay", "memory.bin"));
  EXPECT_TRUE(fs::exists(victim));
  EXPECT_TRUE(Has("pictures"));
}

// The list of what was written has the budgets of all lists of files; with more in it, it is not
// Kiln's.
TEST_F(RtlProjectFolder, ListsOfEmittedFilesHaveLimits) {
  const auto is_removed = [&](const std::string& list) {
    Write(ProjectOf("first_top", "kiln_fifo", "memory.hex"));
    EXPECT_TRUE(WriteFile(Design() / "stale.txt", "an earlier emission's").ok());
    EXPECT_TRUE(WriteFile(Design() / "emitted.txt", list).ok());
    Write(ProjectOf("first_top", "kiln_fifo", "memory.hex"));
    return !Has("stale.txt");
  };
  std::string most = "stale.txt\n";
  for (int64_t i = 1; i < budgets::kListedFiles; ++i) most += "f" + std::to_string(i) + "\n";
  EXPECT_TRUE(is_removed(most));
  EXPECT_FALSE(is_removed(most + "f\n"));
  const std::string comment = "stale.txt\n#" + std::string(budgets::kFileListBytes - 11, 'x');
  EXPECT_TRUE(is_removed(comment));
  EXPECT_FALSE(is_removed(comment + "x"));
  EXPECT_FALSE(is_removed(""));
}

TEST_F(RtlProjectFolder, ThePackagesOfTheLibraryAreAListOfFiles) {
  const auto needed = [&](const std::string& packages) {
    EXPECT_TRUE(WriteFile(folder_.path() / "packages.f", packages).ok());
    return NeededFiles(folder_.path(), "kiln_b_pkg kiln_a_pkg kiln_c");
  };
  fs::create_directories(folder_.path() / "parts");
  for (const char* name : {"kiln_a_pkg", "kiln_b_pkg", "kiln_c"}) {
    ASSERT_TRUE(WriteFile(folder_.path() / "parts" / (std::string(name) + ".sv"), "").ok());
  }
  const auto ordered = needed(
      "# packages\n\nparts/kiln_b_pkg.sv\nparts/kiln_none_pkg.sv\n// "
      "more\nparts/kiln_a_pkg.sv\r\n");
  ASSERT_TRUE(ordered.ok()) << ordered.status();
  EXPECT_THAT(*ordered, testing::ElementsAre("parts/kiln_b_pkg.sv", "parts/kiln_a_pkg.sv",
                                             "parts/kiln_c.sv"));
  EXPECT_THAT(MessageOf(needed("../kiln_a_pkg.sv\n").status()), HasSubstr("packages.f: line 1: "));
  const std::string comment = "a\n#" + std::string(budgets::kFileListBytes - 3, 'x');
  EXPECT_TRUE(needed(comment).ok());
  EXPECT_THAT(MessageOf(needed(comment + 'x').status()),
              HasSubstr("packages.f: 1048577 bytes are too many"));

  // Packages of folders with a list of their own come after the library's.
  ASSERT_TRUE(WriteFile(folder_.path() / "parts" / "packages.f", "# own\nkiln_a_pkg.sv\n").ok());
  const auto of_parts = needed("parts/kiln_b_pkg.sv\n");
  ASSERT_TRUE(of_parts.ok()) << of_parts.status();
  EXPECT_EQ(*of_parts, *ordered);
  ASSERT_TRUE(WriteFile(folder_.path() / "parts" / "packages.f", "../kiln_a_pkg.sv\n").ok());
  EXPECT_THAT(MessageOf(needed("parts/kiln_b_pkg.sv\n").status()),
              HasSubstr("parts/packages.f: line 1: "));
}

// Builds with a Verilator that only counts how often it runs and leaves a program that says what it
// was made of.
class SimulationFolder : public RtlProjectFolder {
 protected:
  void SetUp() override {
    const fs::path tools = folder_.path() / "tools";
    fs::create_directories(tools);
    ASSERT_TRUE(WriteFile(tools / "verilator", "#!/bin/sh\necho run >> " + Runs().string() + R"(
while [ $# -gt 0 ]; do
  if [ "$1" = --Mdir ]; then
    mkdir -p "$2"
    find . -type f | sort > )" + Files().string() + R"(
    printf 'V%%:\n\tprintf "#!/bin/sh\\necho genuine\\n" > $@ && chmod +x $@\n' > "$2/Vtop.mk"
  fi
  shift
done
)")
                    .ok());
    fs::permissions(tools / "verilator", fs::perms::owner_all);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (tools.string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  fs::path Runs() const { return folder_.path() / "runs"; }
  fs::path Files() const { return folder_.path() / "files"; }
  int64_t NumberOfRuns() const { return std::ssize(ReadFile(Runs()).value_or("")) / 4; }
  // What the program prints that a build returns.
  std::string Prints(bool trace = false) {
    const auto program = BuildSimulation(Design(), {.trace = trace}, cache_);
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return "";
    const fs::path log = folder_.path() / "printed";
    EXPECT_TRUE(RunProgram({program->string()}, log).ok());
    return ReadFile(log).value_or("");
  }

 private:
  std::string path_;
  SimulationCache cache_;
};

TEST_F(SimulationFolder, RunsNothingThatAnotherLeftThere) {
  Write(ProjectOf("top", "kiln_fifo", "memory.h"));
  fs::create_directories(Design() / "build" / "model");
  const std::string marker = (folder_.path() / "marker").string();
  const auto plant = [&](const fs::path& name, const std::string& text) {
    ASSERT_TRUE(WriteFile(Design() / name, text).ok());
    fs::permissions(Design() / name, fs::perms::owner_all);
    fs::last_write_time(Design() / name,
                        fs::file_time_type::clock::now() + std::chrono::hours(1000));
  };
  const std::string hostile = "#!/bin/sh\ntouch " + marker + "\necho hostile\n";
  for (const char* program : {"build/simulate", "build/simulate_trace", "build/model/Vtop"})
    plant(program, hostile);
  for (const char* makefile : {"GNUmakefile", "makefile", "build/model/Vtop.mk"}) {
    plant(makefile, "all build/simulate build/simulate_trace Vtop:\n\ttouch " + marker +
                        "\n$(shell touch " + marker + ")\n");
  }
  // make takes what follows a semicolon in the names of a wildcard for a command.
  plant("x;touch ${KILN_TEST_MARKER};.h", "");
  ::setenv("KILN_TEST_MARKER", marker.c_str(), 1);
  // The compiler would find these before its own.
  plant("vector", "#error");
  plant("testbench/verilated.h", "#error");
  EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(Prints(true), "genuine\n");
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_EQ(NumberOfRuns(), 2);
  const std::string files = ReadFile(Files()).value_or("");
  EXPECT_THAT(files, testing::AllOf(HasSubstr("./memory.h\n"), HasSubstr("./rtl/kiln_fifo.sv\n"),
                                    HasSubstr("./testbench/kiln_axi_lite.h\n")));
  EXPECT_THAT(files, testing::Not(testing::AnyOf(HasSubstr("vector"), HasSubstr("verilated"),
                                                 HasSubstr("make\n"))));
  // Everything else in the folder is as it was.
  EXPECT_TRUE(Has("GNUmakefile"));
}

TEST_F(SimulationFolder, IsBuiltAnewWhereItIsNotOfTheseFiles) {
  Write(ProjectOf("top", "kiln_fifo", "memory.h"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(NumberOfRuns(), 1);
  // An image is no source.
  RtlProject with_image = ProjectOf("top", "kiln_fifo", "memory.h");
  with_image.others.emplace_back("memory.hex", "1");
  Write(with_image);
  EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(NumberOfRuns(), 1);
  Write(ProjectOf("top", "kiln_pulse_delay", "memory.h"));
  EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(NumberOfRuns(), 2);
  // Another program where make would put it is not run, and is replaced.
  ASSERT_TRUE(WriteFile(Design() / "build/simulate", "#!/bin/sh\necho another\n").ok());
  fs::permissions(Design() / "build/simulate", fs::perms::owner_all);
  EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(NumberOfRuns(), 2);
  EXPECT_THAT(*ReadFile(Design() / "build/simulate"), HasSubstr("genuine"));
  // make in the folder finds it up to date.
  ASSERT_TRUE(
      RunProgram({"make", "-C", Design().string(), "build/simulate"}, folder_.path() / "make.log")
          .ok());
  EXPECT_EQ(NumberOfRuns(), 2);
  // What `make sim` runs does not decide about the program.
  RtlProject same = ProjectOf("top", "kiln_pulse_delay", "memory.h");
  same.simulation_arguments = "--program 4096";
  Write(same);
  EXPECT_EQ(Prints(), "genuine\n");
  EXPECT_EQ(NumberOfRuns(), 2);
}

// A network that is several machines: a folder for each, and a page beside them. An emission of
// fewer machines, or of one, leaves nothing of the others.
TEST_F(RtlProjectFolder, HoldsSeveralProjects) {
  std::vector<std::pair<std::string, std::string>> pages = {{"README.md", "# A page\n"},
                                                            {"kernels.txt", "kernels"}};
  const auto write = [&](const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, RtlProject>> projects;
    for (const std::string& name : names)
      projects.emplace_back(name, ProjectOf("top", "kiln_fifo", name + ".hex"));
    const Status status = WriteFolderOfProjects(projects, pages, Design());
    EXPECT_TRUE(status.ok()) << status;
  };
  write({"part0", "part1"});
  EXPECT_TRUE(CheckRtlFolder(Design()).ok());
  EXPECT_THAT(ProjectsIn(Design()), testing::ElementsAre(Design() / "part0", Design() / "part1"));
  for (const char* file :
       {"README.md", "kernels.txt", "part0/top.sv", "part0/part0.hex", "part1/emitted.txt"}) {
    EXPECT_TRUE(Has(file)) << file;
  }
  ASSERT_TRUE(WriteFile(Design() / "part1" / "notes.txt", "somebody's").ok());

  pages.pop_back();
  write({"part0"});
  EXPECT_THAT(ProjectsIn(Design()), testing::ElementsAre(Design() / "part0"));
  for (const char* file : {"kernels.txt", "part1/top.sv", "part1/emitted.txt"})
    EXPECT_FALSE(Has(file)) << file;
  EXPECT_TRUE(Has("part1/notes.txt"));

  Write(ProjectOf("top", "kiln_fifo", "memory.hex"));
  EXPECT_THAT(ProjectsIn(Design()), testing::ElementsAre(Design()));
  for (const char* file : {"README.md", "part0/top.sv"}) EXPECT_FALSE(Has(file)) << file;

  // And back. Somebody's files are an error only in a folder that Kiln has not filled.
  write({"part0", "part2"});
  EXPECT_FALSE(Has("top.sv"));
  fs::create_directories(Design() / "part3");
  ASSERT_TRUE(WriteFile(Design() / "part3" / "letter.txt", "somebody's").ok());
  EXPECT_THAT(MessageOf(WriteFolderOfProjects({{"part3", ProjectOf("top", "kiln_fifo", "a.hex")}},
                                              {}, Design())),
              HasSubstr("part3: holds files that are not of an earlier emission"));
  EXPECT_TRUE(Has("part0/top.sv"));
}

TEST(VerilogText, FindsModulesByName) {
  const std::string text = WithoutComments(
      "// module none;\n/* module no; */ module one #(parameter int A = 1) ();\n  two #(.B(A)) x "
      "();\nendmodule\n"
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
