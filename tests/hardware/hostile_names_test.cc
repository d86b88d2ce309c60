// Checks that text from files and arguments cannot reach a shell, a script or other people's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/hardware/file_list.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Names that a shell, make, Yosys or Tcl would take for more than a name; each that runs makes a
// file "marker".
const std::vector<std::string> kHostileNames = {
    "a.sv; !touch marker",
    "a.sv;exec -- touch marker",
    "!touch marker",
    "a.sv\r!touch marker",
    "`touch marker`.sv",
    "$(touch marker).sv",
    "a.sv&touch marker",
    "a.sv|touch marker",
    "[exec touch marker].sv",
    "a b.sv",
    "a\tb.sv",
    "\"a.sv\"",
    "'a.sv'",
    "a\\.sv",
    "-p",
    "-f/etc/passwd",
    "+incdir+x",
    "@other.f",
    "~/a.sv",
    "*.sv",
    "a.sv # comment",
    "../a.sv",
    "rtl/../../a.sv",
    "/etc/passwd",
    "rtl//a.sv",
    "rtl/",
    ".hidden/a.sv",
    "a\x1b[2J.sv",
};

// Names of layers in folders for tools: plain characters, and both ends of long ones.
TEST(SampleName, KeepsBothEndsOfALongName) {
  EXPECT_EQ(SampleName("/head/fc 1"), "/head/fc_1");
  EXPECT_EQ(SampleName(""), "_");
  const std::string stem(90, 'x');
  const std::string first = SampleName(stem + "/conv1"), second = SampleName(stem + "/conv2");
  EXPECT_EQ(first.size(), 80u);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.substr(first.size() - 6), "/conv1");
  EXPECT_EQ(SampleName(std::string(80, 'x')), std::string(80, 'x'));
}

TEST(ToolNames, PlainPaths) {
  for (const char* path : {"a", "a.sv", "rtl/kiln_fifo.sv", "./a.sv", "A-1/b+2/_c.v", "9"}) {
    EXPECT_TRUE(IsPlainPath(path)) << path;
  }
  for (const std::string& path : kHostileNames) EXPECT_FALSE(IsPlainPath(path)) << path;
  EXPECT_FALSE(IsPlainPath(""));
  EXPECT_FALSE(IsPlainPath(std::string("a\0b", 3)));
  EXPECT_FALSE(IsPlainPath("a\nb"));
}

TEST(ToolNames, Identifiers) {
  for (const char* name : {"a", "_", "kiln_fifo", "A9"}) EXPECT_TRUE(IsIdentifier(name)) << name;
  for (const char* name : {"", "9a", "a-b", "a b", "a;b", "\\a", "a$b", "ä"})
    EXPECT_FALSE(IsIdentifier(name)) << name;
  EXPECT_EQ(PlainName("a;b !touch"), "a_b__touch");
  EXPECT_EQ(PlainName(std::string(1000, 'x')).size(), 64u);
}

TEST(ToolNames, PathsOfWorkFolders) {
  EXPECT_TRUE(CheckToolPath("/tmp/kiln-synth.a1B2/x_y=1,2+3@4~5/\xc3\xa4", "").ok());
  for (const char* path : {"/a b", "/a;b", "/a&b", "/$(b)", "/`b`", "/a\nb", "/a\"b", "/a'b",
                           "/[b]", "/{b}", "/#", "/a*"}) {
    EXPECT_FALSE(CheckToolPath(path, "").ok()) << path;
  }
  EXPECT_EQ(MessageOf(CheckToolPath("/a b", "TMPDIR")),
            "/a b: TMPDIR: the tools take no path with a blank in it; name a folder whose path has "
            "letters, digits and "
            "any of / _ - . + , = @ ~ only");
}

TEST(FileList, LinesThatAreNoPathsAreRefused) {
  for (const std::string& name : kHostileNames) {
    const auto files = ParseFileList("# list\ntop.sv\n" + name + "\n", "filelist.f");
    ASSERT_FALSE(files.ok()) << name;
    EXPECT_THAT(MessageOf(files.status()), testing::StartsWith("filelist.f: line 3: ")) << name;
    EXPECT_THAT(MessageOf(files.status()), Not(HasSubstr("\n"))) << name;
  }
}

TEST(FileList, HasLimits) {
  const auto list = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "f" + std::to_string(i) + "\n";
    return ParseFileList(text, "filelist.f");
  };
  EXPECT_EQ(std::ssize(*list(budgets::kListedFiles - 1)), budgets::kListedFiles - 1);
  EXPECT_EQ(std::ssize(*list(budgets::kListedFiles)), budgets::kListedFiles);
  EXPECT_THAT(MessageOf(list(budgets::kListedFiles + 1).status()),
              HasSubstr("line 10001: names too many files"));
  std::string comment = "a\n#" + std::string(budgets::kFileListBytes - 3, 'x');
  EXPECT_TRUE(ParseFileList(comment, "filelist.f").ok());
  comment += 'x';
  EXPECT_THAT(MessageOf(ParseFileList(comment, "filelist.f").status()),
              HasSubstr("has 1048577 bytes"));
  const auto last = ParseFileList("a.sv\n\nb.sv", "filelist.f");
  ASSERT_TRUE(last.ok());
  EXPECT_EQ((*last)[1].path, "b.sv");
  EXPECT_EQ((*last)[1].line, 3);
}

class HostileFolder : public testing::Test {
 protected:
  void Write(const fs::path& name, const std::string& text) const {
    const Status status = WriteFile(folder_.path() / name, text);
    ASSERT_TRUE(status.ok()) << status;
  }
  // No file of that name is below the folder or where this program runs.
  void ExpectNoMarker() const {
    EXPECT_FALSE(fs::exists("marker"));
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("marker")) << entry.path();
    }
  }
  fs::path Folder(const std::string& name) const { return folder_.path() / name; }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-hostile-test");
};

// The files are there, and still refused by their names.
TEST_F(HostileFolder, ListsNameNoFilesWithSuchNames) {
  for (const std::string& name : kHostileNames) {
    if (name.find('/') != std::string::npos) continue;
    Write(name, "module top; endmodule\n");
    Write("filelist.f", name + "\n");
    EXPECT_FALSE(SourcesOfFolder(folder_.path(), "top").ok()) << name;
  }
}

TEST_F(HostileFolder, ListsNameNoFilesBehindLinks) {
  Write("outside.sv", "module top; endmodule\n");
  fs::create_directories(Folder("design/real"));
  Write("design/real/inside.sv", "module top; endmodule\n");
  fs::create_symlink("../outside.sv", Folder("design/file.sv"));
  fs::create_directory_symlink("..", Folder("design/up"));
  fs::create_directory_symlink("real", Folder("design/same"));
  fs::create_symlink("nowhere", Folder("design/broken.sv"));
  const auto sources = [this](const std::string& line) {
    Write("design/filelist.f", line + "\n");
    return SourcesOfFolder(Folder("design"), "top").status();
  };
  EXPECT_THAT(MessageOf(sources("file.sv")),
              HasSubstr("filelist.f: line 1: 'file.sv' is a link that leads out of"));
  EXPECT_THAT(MessageOf(sources("up/outside.sv")),
              HasSubstr("is a link that leads out of the folder"));
  EXPECT_THAT(MessageOf(sources("broken.sv")), HasSubstr("is not there"));
  EXPECT_TRUE(sources("same/inside.sv").ok());
}

// A folder of any name, with a module of any name, is synthesised; what they say is not done.
TEST_F(HostileFolder, SynthesisTakesAnyFolderAndModule) {
  if (!RunProgram({"which", "yosys"}, Folder("which.log")).ok())
    GTEST_SKIP() << "yosys is not installed";
  if (!fs::exists(DefaultLiberty())) GTEST_SKIP() << DefaultLiberty() << " is not installed";
  const fs::path design =
      Folder("R&D (1);touch marker $(touch marker2) `touch marker3` \"q\" 'r'\n!touch marker4");
  fs::create_directories(design);
  ASSERT_TRUE(WriteFile(design / "filelist.f", "top.sv\n").ok());
  ASSERT_TRUE(WriteFile(design / "top.sv",
                        "module \\a;!touch(marker5)&x (input logic clock, d, output logic q);\n"
                        "  always_ff @(posedge clock) q <= d;\nendmodule\n"
                        "module top (input logic clock, d, output logic q);\n"
                        "  \\a;!touch(marker5)&x unit (.clock, .d, .q);\nendmodule\n")
                  .ok());
  const auto sources = SourcesOfFolder(design, "top");
  ASSERT_TRUE(sources.ok()) << sources.status();
  fs::create_directories(Folder("work"));
  SynthesisOptions options;
  options.timing = false;
  const auto result = Synthesise(*sources, options, Folder("work"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->design.resources.flip_flops, 1);
  ExpectNoMarker();
  // Yosys' own errors name the user's folder, on one line.
  ASSERT_TRUE(WriteFile(design / "top.sv", "module top (;\nendmodule\n").ok());
  const auto broken = Synthesise(*sources, options, Folder("work"));
  EXPECT_THAT(MessageOf(broken.status()), HasSubstr("R&D (1)"));
  EXPECT_THAT(MessageOf(broken.status()), HasSubstr("/top.sv:1: "));
  EXPECT_THAT(MessageOf(broken.status()), Not(HasSubstr("\n")));
  // Where tools write, the path goes into ABC's scripts.
  fs::create_directories(Folder("work;touch marker"));
  EXPECT_THAT(MessageOf(Synthesise(*sources, options, Folder("work;touch marker")).status()),
              HasSubstr("the tools take no path with ';' in it"));
}

// The inverter's name would go into a Tcl script.
TEST_F(HostileFolder, LibrariesHaveNoTclInTheirNames) {
  Write("cells.lib",
        "library (l) {\n  cell (\"x[exec touch marker]\") {\n    area : 1;\n"
        "    pin (A) { direction : input; capacitance : 1; }\n"
        "    pin (Y) { direction : output; function : \"!A\"; }\n  }\n"
        "  cell (DFF) {\n    area : 1;\n    ff (IQ, IQN) { clocked_on : \"C\"; next_state : \"D\"; "
        "}\n"
        "    pin (C) { direction : input; capacitance : 1; }\n    pin (D) { direction : input; "
        "capacitance : 1; }\n"
        "    pin (Q) { direction : output; function : \"IQ\"; }\n  }\n}\n");
  Write("filelist.f", "top.sv\n");
  Write("top.sv", "module top (input logic a, output logic b);\n  assign b = a;\nendmodule\n");
  const auto sources = SourcesOfFolder(folder_.path(), "top");
  ASSERT_TRUE(sources.ok()) << sources.status();
  SynthesisOptions options;
  options.liberty = Folder("cells.lib");
  fs::create_directories(Folder("work"));
  EXPECT_THAT(MessageOf(Synthesise(*sources, options, Folder("work")).status()),
              HasSubstr("its inverter is named 'x[exec touch marker]'"));
  ExpectNoMarker();
}

// Functions of C that a source imports would run in Yosys.
TEST(SynthesisFlow, SourcesCallNoFunctionsOfC) {
  EXPECT_EQ(ReadCommands({"a.sv", "b.sv"}),
            "read_verilog -nodpi -sv a.sv\nread_verilog -nodpi -sv b.sv\n");
}

// `kiln synth` and `make synth` come from one place; neither shares resources by SAT.
TEST(SynthesisFlow, EmittedScriptsRunTheSamePasses) {
  const auto passes = [](const std::string& commands) {  // from operators to gates
    const size_t begin = commands.find("opt_expr\nopt_clean\nwreduce"),
                 end = commands.find("-noshare");
    EXPECT_NE(begin, std::string::npos);
    EXPECT_NE(end, std::string::npos);
    return commands.substr(begin, commands.find("synth", begin) - begin);
  };
  const std::string emitted = ProjectScript({"rtl/kiln_ram_1w.sv", "top.sv"}, "top");
  EXPECT_EQ(passes(emitted), passes(CellCommands({"cells.lib", "ports.constr", 10}, false)));
  EXPECT_THAT(emitted, HasSubstr(ElaborateCommands({.files = {"rtl/kiln_ram_1w.sv", "top.sv"},
                                                    .folders = {},
                                                    .parameters = {},
                                                    .top = "top"})));
  EXPECT_THAT(emitted, HasSubstr("\nblackbox *kiln_ram_1w*\n"));
  EXPECT_THAT(ProjectScript({"top.sv"}, "top"), Not(HasSubstr("blackbox")));
}

RtlProject Fifo() {
  RtlProject project;
  project.top = "top";
  project.top_text =
      "module top (input logic clock, reset, push, pop, input logic [3:0] a, output logic [3:0] "
      "b,\n"
      "            output logic empty, full);\n"
      "  logic [3:0] words[4];\n  logic [1:0] head, tail;\n"
      "  always_ff @(posedge clock) begin\n    if (push) words[tail] <= a;\n"
      "    head <= reset ? 2'd0 : head + {1'b0, pop};\n    tail <= reset ? 2'd0 : tail + {1'b0, "
      "push};\n  end\n"
      "  assign b = words[head];\n  assign empty = head == tail;\n  assign full = tail + 2'd1 == "
      "head;\nendmodule\n";
  project.testbench = {"kiln_axi_lite.h"};
  project.others = {{"memory.hex", "of top"}};
  return project;
}

// No blanks, which make takes for the end of a name; everything else.
TEST_F(HostileFolder, EmittedDesignsAreSynthesisedInAnyFolder) {
  if (!RunProgram({"which", "yosys"}, Folder("which.log")).ok())
    GTEST_SKIP() << "yosys is not installed";
  const fs::path design =
      Folder("R&D;touch${IFS}marker;$(touch${IFS}marker2)`touch${IFS}marker3`'\"#(x)");
  const Status written = WriteRtlProject(Fifo(), design);
  ASSERT_TRUE(written.ok()) << written;
  const auto synthesise = [&](const fs::path& folder) {
    const Status made =
        RunProgram({"make", "-s", "-C", folder.string(), "synth"}, Folder("make.log"));
    EXPECT_TRUE(made.ok()) << made;
    return ReadFile(folder / "build" / "synth.txt").value_or("");
  };
  const std::string counts = synthesise(design);
  EXPECT_THAT(counts, testing::ContainsRegex("Number of cells: +[1-9]"));
  ExpectNoMarker();
  // Nothing in the folder says where it is.
  fs::rename(design, Folder("moved"));
  fs::remove_all(Folder("moved/build"));
  EXPECT_EQ(synthesise(Folder("moved")), counts);
  for (const auto& entry : fs::recursive_directory_iterator(Folder("moved"))) {
    if (entry.is_regular_file() && entry.path().parent_path().filename() != "build") {
      EXPECT_THAT(*ReadFile(entry.path()), Not(HasSubstr(folder_.path().string()))) << entry.path();
    }
  }
}

TEST_F(HostileFolder, EmissionsRefuseControlCharactersInPaths) {
  for (const char* name : {"a\x1b[2J", "a\x7f", "a\nb", "a\rb", "a b"}) {
    const Status status = WriteRtlProject(Fifo(), Folder(name));
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_THAT(MessageOf(status), Not(testing::ContainsRegex("[\x01-\x1f\x7f]"))) << name;
    EXPECT_FALSE(fs::exists(Folder(name)));
  }
}

// Wherever a folder has links, what is behind them is neither written nor removed.
TEST_F(HostileFolder, EmissionsLeaveWhatIsBehindLinks) {
  fs::create_directories(Folder("outside"));
  Write("outside/kept.sv", "somebody's");
  Write("outside/file", "somebody's");
  const fs::path design = Folder("design");
  const auto outside = [this] {
    return *ReadFile(Folder("outside/kept.sv")) + *ReadFile(Folder("outside/file")) +
           std::to_string(
               std::distance(fs::directory_iterator(Folder("outside")), fs::directory_iterator()));
  };
  const std::string before = outside();
  // emitted.txt says that files behind a linked folder are Kiln's.
  ASSERT_TRUE(WriteRtlProject(Fifo(), design).ok());
  fs::create_directory_symlink(Folder("outside"), design / "more");
  Write("design/emitted.txt", "more/kept.sv\nmore/file\n");
  ASSERT_TRUE(WriteRtlProject(Fifo(), design).ok());
  EXPECT_EQ(outside(), before);
  // Links where a file or folder of the project goes, to what is there and to what is not.
  for (const char* name : {"rtl", "testbench"}) {
    fs::remove_all(design / name);
    fs::create_directory_symlink(Folder("outside"), design / name);
    const Status status = WriteRtlProject(Fifo(), design);
    EXPECT_EQ(MessageOf(status),
              (design / name).string() +
                  ": is a link, and nothing is written through links; remove it or name a new "
                  "folder");
    EXPECT_EQ(outside(), before) << name;
    fs::remove(design / name);
  }
  for (const char* name : {"Makefile", "memory.hex", "emitted.txt", "synth.ys", "design.mk"}) {
    for (const char* target : {"outside/file", "outside/new"}) {
      ASSERT_TRUE(WriteRtlProject(Fifo(), design).ok());
      fs::remove(design / name);
      fs::create_symlink(Folder(target), design / name);
      EXPECT_FALSE(WriteRtlProject(Fifo(), design).ok()) << name;
      EXPECT_EQ(outside(), before) << name;
      fs::remove(design / name);
      if (std::string_view(name) == "design.mk") fs::remove_all(design);
    }
  }
  RtlProject with_kernels = Fifo();
  with_kernels.guide.emplace().kernels = "x";
  ASSERT_TRUE(WriteRtlProject(Fifo(), design).ok());
  fs::create_symlink(Folder("outside/file"), design / "kernels.txt");
  EXPECT_FALSE(WriteRtlProject(with_kernels, design).ok());
  // Verilator and make write below build/.
  for (const char* name :
       {"build/build.log", "build/simulate", "build/model", "build/model_trace", "build/more/x"}) {
    fs::create_directories((design / name).parent_path());
    for (const char* target : {"outside/new", "outside"}) {
      fs::create_symlink(Folder(target), design / name);
      EXPECT_EQ(
          MessageOf(BuildSimulation(design).status()),
          (design / name).string() +
              ": is a link, and nothing is written through links; remove it or name a new folder");
      EXPECT_EQ(outside(), before) << name;
      fs::remove(design / name);
    }
  }
  fs::remove_all(design / "build");
  fs::create_directory_symlink(Folder("outside"), design / "build");
  EXPECT_FALSE(BuildSimulation(design).ok());
  EXPECT_EQ(outside(), before);
}

// Opening a FIFO to write would wait for a reader.
TEST_F(HostileFolder, EmissionsWriteToFilesAlone) {
  const fs::path design = Folder("design");
  for (const char* name :
       {"Makefile", "memory.hex", "emitted.txt", "synth.ys", "rtl/kiln_fifo.sv"}) {
    fs::remove_all(design);
    RtlProject project = Fifo();
    project.top_text += "// kiln_fifo\nmodule used;\n  kiln_fifo unit ();\nendmodule\n";
    ASSERT_TRUE(WriteRtlProject(project, design).ok());
    fs::remove(design / name);
    ASSERT_EQ(::mkfifo((design / name).c_str(), 0600), 0);
    EXPECT_EQ(MessageOf(WriteRtlProject(project, design)),
              (design / name).string() + ": is not a regular file; remove it or name a new folder");
  }
  fs::remove_all(design);
  ASSERT_TRUE(WriteRtlProject(Fifo(), design).ok());
  RtlProject with_kernels = Fifo();
  with_kernels.guide.emplace().kernels = "x";
  ASSERT_EQ(::mkfifo((design / "kernels.txt").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(WriteRtlProject(with_kernels, design)), HasSubstr("is not a regular file"));
  fs::create_directories(design / "build");
  ASSERT_EQ(::mkfifo((design / "build/build.log").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(BuildSimulation(design).status()),
              HasSubstr("build.log: is not a regular file"));
}

// A folder as an earlier synthesis leaves it, but for one thing in it that tools would write
// through or wait for.
TEST_F(HostileFolder, SynthesisWorksInItsFolderAlone) {
  Write("outside", "somebody's");
  const fs::path work = Folder("work");
  fs::create_directories(work / "parts");
  fs::create_directory_symlink(folder_.path(), work / "sources");
  Write("work/version.log", "Yosys 0.23\n");
  Write("work/parts/top.v", "");
  EXPECT_EQ(CheckSynthesisFolder(work), OkStatus());
  Write("filelist.f", "top.sv\n");
  Write("top.sv", "module top (input logic a, output logic b);\n  assign b = a;\nendmodule\n");
  const auto sources = SourcesOfFolder(folder_.path(), "top");
  ASSERT_TRUE(sources.ok()) << sources.status();
  for (const char* name : {"cells.lib", "netlist.v", "elaborated.il", "elaborate.ys",
                           "parts/top.il", "parts/top.log", "parts/sources"}) {
    for (const char* target : {"outside", "absent"}) {
      fs::create_symlink(Folder(target), work / name);
      const std::string refusal =
          (work / name).string() +
          ": is a link, and nothing is written through links; remove it or name a new folder";
      EXPECT_EQ(MessageOf(CheckSynthesisFolder(work)), refusal);
      EXPECT_EQ(MessageOf(Synthesise(*sources, {}, work).status()), refusal);
      fs::remove(work / name);
    }
    ASSERT_EQ(::mkfifo((work / name).c_str(), 0600), 0);
    EXPECT_EQ(MessageOf(CheckSynthesisFolder(work)),
              (work / name).string() + ": is not a regular file; remove it or name a new folder");
    fs::remove(work / name);
  }
  EXPECT_EQ(*ReadFile(Folder("outside")), "somebody's");
  EXPECT_FALSE(fs::exists(Folder("absent")));
  // Another folder in place of Kiln's own link is none that the sources can be put in.
  fs::remove(work / "sources");
  fs::create_directories(work / "more");
  fs::create_directory_symlink(folder_.path(), work / "more/sources");
  EXPECT_THAT(MessageOf(CheckSynthesisFolder(work)), HasSubstr("more/sources: is a link"));
}

}  // namespace
}  // namespace kiln::hardware
