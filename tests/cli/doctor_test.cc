// Tests of `kiln doctor` with made-up tools on PATH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "kiln/cli/application.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class DoctorTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", folder_.path().c_str(), 1);
    AddTool("verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)");
    AddTool("make", "GNU Make 4.3");
    AddTool("clang++-19", "Debian clang version 19.1.7 (3~deb12u1)");
    AddTool("yosys", "Yosys 0.52 (git sha1 7ce5011c24b)");
    AddTool("g++", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0");
    AddTool("cmake", "cmake version 3.25.1");
    AddTool("z3", "Z3 version 4.8.12 - 64 bit");
    AddTool("dpkg-query", "1.3.17+dfsg.1-3");
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void AddTool(const std::string& name, const std::string& prints, int code = 0) const {
    const auto file = folder_.path() / name;
    ASSERT_TRUE(
        WriteFile(file, "#!/bin/sh\necho '" + prints + "'\nexit " + std::to_string(code) + "\n")
            .ok());
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  std::string path_;
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-doctor-test");
};

TEST_F(DoctorTest, ListsVersionsAndNamesMissingPackages) {
  const Outcome outcome = Call({"doctor"});
  EXPECT_EQ(outcome.code, kExitError);
  EXPECT_THAT(outcome.out, ContainsRegex("\nverilator +5.006 +known to work +kiln verify"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nclang\\+\\+-19 +19.1.7 +known to work"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nyosys +0.52 +not tested"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nsta +- +missing +kiln synth"));
  EXPECT_THAT(outcome.out, ContainsRegex("\ngtkwave +- +missing, optional"));
  EXPECT_THAT(outcome.out, ContainsRegex("\ng\\+\\+ +12.2.0 +known to work +make sim"));
  EXPECT_THAT(outcome.out, ContainsRegex("\ncmake +3.25.1 +known to work +builds Kiln"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nninja +- +missing, optional +builds Kiln"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nz3 +4.8.12 +known to work +proofs"));
  EXPECT_THAT(outcome.out,
              ContainsRegex("\nosu018_stdcells.lib +1.3.17 +known to work +kiln synth"));
  EXPECT_THAT(outcome.err, HasSubstr("apt-get install opensta\n"));
}

TEST_F(DoctorTest, SucceedsIfEverythingNeededIsThere) {
  AddTool("sta", "2.0.17");
  const Outcome outcome = Call({"doctor", "--json", "-"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["complete"], true);
  int optional = 0;
  for (const auto& tool : json["tools"]) {
    EXPECT_TRUE(!tool["needed"] || tool["found"]) << tool;
    optional += tool["needed"] ? 0 : 1;
    EXPECT_TRUE(tool["tool"] != "sta" || tool["version"] == "2.0.17") << tool;
  }
  EXPECT_EQ(optional, 6);
}

// The solvers of the families are libraries, so their versions do not depend on PATH. pkg-config
// reads CBC's from the files of its package.
TEST_F(DoctorTest, ListsTheLibrariesOfTheFamilies) {
  const auto log = folder_.path() / "log";
  setenv("PATH", path_.c_str(), 1);
  ASSERT_TRUE(RunProgram({"pkg-config", "--modversion", "cbc"}, log).ok());
  std::string version = *ReadFile(log);
  version.erase(version.find_last_not_of(" \n") + 1);
  setenv("PATH", folder_.path().c_str(), 1);
  const auto json = nlohmann::json::parse(Call({"doctor", "--json", "-"}).out);
  std::map<std::string, std::string> libraries, kinds;
  for (const auto& tool : json["tools"]) {
    kinds[tool["tool"]] = tool["kind"];
    if (tool["kind"] == "library") libraries[tool["tool"]] = tool["version"];
  }
  EXPECT_EQ(libraries["libcbc"], version);
  EXPECT_THAT(libraries["libcryptominisat5"], testing::StartsWith("5."));
  EXPECT_EQ(kinds["yosys"], "program");
  EXPECT_EQ(kinds["osu018_stdcells.lib"], "file");
}

TEST_F(DoctorTest, AToolThatFailsIsMissing) {
  AddTool("sta", "cannot open shared object 2.0.17", 127);
  EXPECT_THAT(Call({"doctor"}).out, ContainsRegex("\nsta +- +missing +kiln synth"));
}

}  // namespace
}  // namespace kiln::cli
