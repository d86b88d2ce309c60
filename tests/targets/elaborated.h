// A family's machine as Yosys elaborates it, for tests that compare sizes in C++ with the RTL's.
#ifndef TESTS_TARGETS_ELABORATED_H_
#define TESTS_TARGETS_ELABORATED_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/key_table.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/rtlil.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {

class Elaborated {
 public:
  // Elaborates the module kiln_accelerator of `top_text` and the library's modules in `whole`; the
  // other modules of the library are black boxes, whose parameters and ports are known.
  void Read(const std::string& top_text, const std::set<std::string>& whole) {
    const auto library = RtlLibrary();
    const auto folder = TemporaryFolder::Create("kiln-elaborated");
    ASSERT_TRUE(library.ok() && folder.ok());
    const auto files = NeededFiles(*library, top_text);
    ASSERT_TRUE(files.ok()) << files.status();
    std::string script;
    for (const std::string& file : *files) {
      const std::string module = std::filesystem::path(file).stem();
      const bool is_read = module.ends_with("_pkg") || whole.contains(module);
      script += fmt::format("read_verilog -sv {} {}\n", is_read ? "" : "-lib",
                            (*library / file).string());
    }
    const std::filesystem::path top = folder->path() / "top.sv", result = folder->path() / "rtlil";
    ASSERT_TRUE(WriteFile(top, top_text).ok());
    script +=
        fmt::format("read_verilog -sv {}\nhierarchy -top kiln_accelerator\nproc\nwrite_rtlil {}\n",
                    top.string(), result.string());
    const std::filesystem::path commands = folder->path() / "elaborate.ys";
    ASSERT_TRUE(WriteFile(commands, script).ok());
    const Status run =
        RunProgram({"yosys", "-q", "-s", commands.string()}, folder->path() / "yosys.log");
    ASSERT_TRUE(run.ok()) << run;
    const auto text = ReadFile(result, uint64_t{1} << 28);
    ASSERT_TRUE(text.ok()) << text.status();
    text_ = *text;
    auto design = ParseRtlil(text_);
    ASSERT_TRUE(design.ok()) << design.status();
    design_ = *std::move(design);
  }

  // Returns the value of a parameter of an instance in the module; -1: there is no such instance or
  // parameter.
  int64_t Parameter(const std::string& module, const std::string& instance,
                    const std::string& parameter) const {
    std::istringstream lines(BodyOf(module));
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  cell ")) inside = line.ends_with(" \\" + instance);
      const std::string name = " \\" + parameter + " ";
      if (!inside || !line.starts_with("    parameter ")) continue;
      if (const size_t at = line.find(name); at != std::string::npos)
        return NumberOf(line.substr(at + name.size()));
    }
    return -1;
  }

  // Returns the value that a parameter of the module itself has, its default if the instance does
  // not set it, or -1 if the module has no such parameter.
  int64_t ModuleParameter(const std::string& module, const std::string& parameter) const {
    std::istringstream lines(text_);
    const std::string name = "  parameter \\" + parameter + " ";
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("module ")) inside = IsNameOf(line.substr(7), module);
      if (inside && line.starts_with(name)) return NumberOf(line.substr(name.size()));
    }
    return -1;
  }

  // Returns the bits of a wire of the module; -1: there is no such wire.
  int64_t WireBits(const std::string& module, const std::string& wire) const {
    std::istringstream lines(BodyOf(module));
    const std::regex width(R"(width (\d+))");
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  wire ") || !line.ends_with(" \\" + wire)) continue;
      std::smatch found;
      return std::regex_search(line, found, width) ? std::stoll(found[1]) : 1;
    }
    return -1;
  }

 private:
  // Returns whether Yosys gives the module this name if it has been given parameters:
  // "$paramod$HASH\MODULE" or "$paramod\MODULE\PARAMETER=VALUE...".
  static bool IsNameOf(const std::string& name, const std::string& module) {
    return name.starts_with("$paramod") &&
           (name + "\\").find("\\" + module + "\\") != std::string::npos;
  }
  std::string BodyOf(const std::string& module) const {
    for (const auto& [name, contents] : design_) {
      if (IsNameOf(name, module)) return contents.body;
    }
    return "";
  }

  // "27" or "6'011011".
  static int64_t NumberOf(const std::string& text) {
    const size_t tick = text.find('\'');
    return tick == std::string::npos ? std::stoll(text)
                                     : std::stoll(text.substr(tick + 1), nullptr, 2);
  }

  std::string text_;  // as Yosys wrote it
  RtlilDesign design_;
};

// Every parameter in the header of the machine's module is one of those that the keys give, and
// the reverse: a parameter without a key would keep its default in every design point.
inline void ExpectKeysGiveAllParameters(const std::string& file,
                                        const std::vector<RtlParameter>& given) {
  const auto text = ReadFile(file);
  ASSERT_TRUE(text.ok()) << text.status();
  std::set<std::string> declared, names;
  std::istringstream lines(*text);
  const std::regex parameter(R"(^    parameter [^=]*?(\w+) *=.*)");
  for (std::string line; std::getline(lines, line) && line != ") (";) {
    std::smatch found;
    if (std::regex_match(line, found, parameter)) declared.insert(found[1]);
  }
  for (const RtlParameter& p : given) names.insert(p.name);
  EXPECT_GT(declared.size(), 10u);
  EXPECT_EQ(declared, names);
}

}  // namespace kiln::hardware

#endif  // TESTS_TARGETS_ELABORATED_H_
