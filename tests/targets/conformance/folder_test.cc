// The folder that each family emits for a network: its files for other tools (FuseSoC, IP-XACT,
// Vivado) are compared with what Yosys, Verilator, yaml-cpp and a Tcl interpreter make of them.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/ir/batch_shape.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/interface/accelerator.h"
#include "tests/targets/conformance/cases.h"
#include "tests/targets/conformance/conformance.h"
#include "tests/targets/conformance/prepare.h"

namespace kiln::conformance {
namespace {

namespace fs = std::filesystem;

// The example family of the documents writes the machine alone.
std::vector<std::string> NamesOfFamiliesWithAGuide() {
  std::vector<std::string> names = NamesOfFamilies();
  std::erase(names, "minimal");
  return names;
}

// One family with memory and one without: a simulation takes a while to build.
std::vector<std::string> NamesOfTwoFamilies() {
  std::vector<std::string> names;
  for (const bool memory : {true, false}) {
    const auto family = std::ranges::find_if(Families(), [&](const Family& each) {
      return each.name != "minimal" && each.has_memory == memory;
    });
    if (family != Families().end()) names.push_back(family->name);
  }
  return names;
}

std::vector<std::string> LinesOf(const fs::path& file) {
  std::istringstream text(ReadFile(file).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// A file of a fileset, with the attributes that Kiln writes.
struct CoreFile {
  std::string name, copy_to;
  bool included = false;
};

std::vector<CoreFile> FilesOf(const YAML::Node& fileset) {
  std::vector<CoreFile> files;
  for (const YAML::Node& file : fileset["files"]) {
    if (file.IsScalar()) {
      files.push_back({file.as<std::string>(), ""});
      continue;
    }
    const auto entry = file.begin();
    files.push_back({entry->first.as<std::string>(), entry->second["copyto"].as<std::string>(""),
                     entry->second["is_include_file"].as<bool>(false)});
  }
  return files;
}

class EveryFamilysFolder : public testing::TestWithParam<std::string> {
 protected:
  // Emits the first case of the suite that runs on the family's smallest machine.
  void SetUp() override {
    const Family* family = nullptr;
    for (const Family& each : Families()) {
      if (each.name == GetParam()) family = &each;
    }
    ASSERT_NE(family, nullptr);
    const std::string& point = family->rtl_design_point;
    const std::unique_ptr<Accelerator> accelerator = Load(point);
    ASSERT_NE(accelerator, nullptr);
    for (const Case& c : AllCases()) {
      Prepared prepared = Prepare(c.build(), 11, *family, DesignPoint(point.c_str()));
      const auto program = accelerator->Compile(prepared.quantised, {});
      ASSERT_TRUE(program.ok()) << c.name << ": " << program.status();
      if (std::ranges::all_of((*program)->kernels(), &KernelInfo::on_host)) continue;
      FolderContent content{.network = "a net.onnx", .sample = {}, .figures = "", .clock_mhz = 80};
      for (const Tensor& input : prepared.batch.inputs) {
        std::vector<int64_t> dims = input.shape().dims();
        dims[0] = 1;
        Tensor first(input.type(), Shape(dims));
        SetSample(SampleOf(input, Shape(dims), 0), 0, &first);
        content.sample.inputs.push_back(std::move(first));
      }
      const Status status = accelerator->EmitRtl(**program, content, Design());
      ASSERT_TRUE(status.ok()) << status;
      return;
    }
    FAIL() << "no case runs on the machine";
  }

  fs::path Design() const { return folder_.path() / "design"; }
  // Runs a program in a folder and returns its output if it fails.
  std::string FailureOf(const fs::path& folder, const std::string& command) const {
    const fs::path log = folder_.path() / "log";
    const Status status =
        RunProgram({"sh", "-c", "cd \"$0\" && exec " + command, folder.string()}, log);
    return status.ok() ? "" : ReadFile(log).value_or("") + MessageOf(status);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-folder");
};

TEST_P(EveryFamilysFolder, DescribesItsPortsRegistersAndFiles) {
  const fs::path log = folder_.path() / "log";
  const Status checked =
      RunProgram({"tests/targets/conformance/check_package", Design().string()}, log);
  EXPECT_TRUE(checked.ok()) << *ReadFile(log);
  // 80 MHz.
  EXPECT_NE(ReadFile(Design() / "design.xdc").value_or("").find(" -period 12.500 "),
            std::string::npos);
}

// FuseSoC is not in Debian, so the test does with the core what FuseSoC and its back end for
// Verilator do: it copies files where `copyto` says, and passes the files and options of a target.
TEST_P(EveryFamilysFolder, IsACoreThatVerilatorTakes) {
  const std::string text = ReadFile(Design() / "design.core").value_or("");
  ASSERT_TRUE(text.starts_with("CAPI=2:\n"));
  const YAML::Node core = YAML::Load(text);
  EXPECT_TRUE(core["name"].as<std::string>().starts_with("kiln:accelerators:"));
  EXPECT_TRUE(core["name"].as<std::string>().ends_with("_a_net_onnx:1.0.0"));
  std::vector<std::string> sources;
  for (const CoreFile& file : FilesOf(core["filesets"]["rtl"])) sources.push_back(file.name);
  EXPECT_EQ(sources, LinesOf(Design() / "filelist.f"));
  // Every file that the simulation or a memory opens keeps its path.
  for (const auto& fileset : core["filesets"]) {
    for (const CoreFile& file : FilesOf(fileset.second)) {
      EXPECT_TRUE(fs::is_regular_file(Design() / file.name)) << file.name;
      EXPECT_TRUE(file.copy_to.empty() || file.copy_to == file.name) << file.copy_to;
    }
  }
  for (const char* target : {"default", "lint", "sim", "synth"}) {
    ASSERT_TRUE(core["targets"][target]) << target;
    EXPECT_EQ(core["targets"][target]["toplevel"].as<std::string>(), "kiln_accelerator");
    for (const YAML::Node& fileset : core["targets"][target]["filesets"])
      EXPECT_TRUE(core["filesets"][fileset.as<std::string>()]) << target << ": " << fileset;
  }
  std::string command = "verilator --lint-only --top-module kiln_accelerator";
  const YAML::Node lint = core["targets"]["lint"];
  EXPECT_EQ(lint["tools"]["verilator"]["mode"].as<std::string>(), "lint-only");
  for (const YAML::Node& option : lint["tools"]["verilator"]["verilator_options"])
    command += " " + option.as<std::string>();
  for (const YAML::Node& name : lint["filesets"]) {
    const YAML::Node fileset = core["filesets"][name.as<std::string>()];
    if (fileset["file_type"].as<std::string>() == "user") continue;
    for (const CoreFile& file : FilesOf(fileset)) command += " " + file.name;
  }
  EXPECT_EQ(FailureOf(Design(), command), "");
}

// The target `sim` builds and runs the sample in another folder.
class AFamilysFolder : public EveryFamilysFolder {};

TEST_P(AFamilysFolder, IsACoreWhoseSimulationPasses) {
  const YAML::Node core = YAML::LoadFile((Design() / "design.core").string());
  const YAML::Node sim = core["targets"]["sim"];
  const fs::path work = folder_.path() / "work";
  fs::create_directories(work);
  std::string command =
      "verilator --Mdir . --cc --exe --build -MAKEFLAGS CXX=clang++-19 -MAKEFLAGS OPT_FAST=-O0 "
      "-MAKEFLAGS OPT_SLOW=-O0 -MAKEFLAGS OPT_GLOBAL=-O0 "
      "--top-module kiln_accelerator";
  std::set<std::string> included;
  std::string files;
  for (const YAML::Node& name : sim["filesets"]) {
    const YAML::Node fileset = core["filesets"][name.as<std::string>()];
    for (const CoreFile& file : FilesOf(fileset)) {
      const fs::path from = Design() / file.name;
      if (file.included) {
        included.insert(from.parent_path().string());
      } else if (fileset["file_type"].as<std::string>() == "user") {
        fs::create_directories((work / file.copy_to).parent_path());
        fs::copy_file(from, work / file.copy_to);
      } else {
        files += " " + from.string();
      }
    }
  }
  for (const std::string& path : included) command += " -CFLAGS -I" + path;
  const YAML::Node tool = sim["tools"]["verilator"];
  for (const YAML::Node& option : tool["verilator_options"])
    command += " " + option.as<std::string>();
  ASSERT_EQ(FailureOf(work, command + files), "");
  std::string run = "./Vkiln_accelerator";
  for (const YAML::Node& word : tool["run_options"]) run += " " + word.as<std::string>();
  EXPECT_EQ(FailureOf(work, run), "");
  const std::string printed = ReadFile(folder_.path() / "log").value_or("");
  EXPECT_NE(printed.find("\nPASS: "), std::string::npos) << printed;
}

INSTANTIATE_TEST_SUITE_P(Conformance, EveryFamilysFolder,
                         testing::ValuesIn(NamesOfFamiliesWithAGuide()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Conformance, AFamilysFolder, testing::ValuesIn(NamesOfTwoFamilies()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::conformance
