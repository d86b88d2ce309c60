// Writes the FuseSoC core of an emitted folder (CAPI2).
//
// FuseSoC runs a tool in a folder of its own. Files that a running simulation opens by their path
// are therefore copied to the same path there (`copyto`).

#include <sstream>

#include "fmt/format.h"
#include "kiln/hardware/design_package.h"
#include "kiln/hardware/file_list.h"

namespace kiln::hardware {
namespace {

// Returns a text as a double-quoted scalar.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string FilesetOf(const std::string& name, const std::string& files, const std::string& type) {
  if (files.empty()) return "";
  return fmt::format("  {}:\n    files:\n{}    file_type: {}\n", name, files, type);
}

std::string PlainFiles(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& file : files) out += fmt::format("      - {}\n", file);
  return out;
}

std::string CopiedFiles(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& file : files) out += fmt::format("      - {0}: {{copyto: {0}}}\n", file);
  return out;
}

std::string ListOf(std::string_view key, const std::vector<std::string>& words) {
  std::string out = fmt::format("        {}:\n", key);
  for (const std::string& word : words) out += fmt::format("          - {}\n", Quoted(word));
  return out;
}

}  // namespace

std::string CoreNameOf(const DesignPackage& package) {
  return fmt::format("kiln:accelerators:{}:1.0.0", package.name);
}

std::string FuseSocCore(const DesignPackage& package) {
  const std::string contents = package.contents.empty() ? "" : ", contents";
  std::string headers;
  for (const std::string& header : package.headers)
    headers += fmt::format("      - {}: {{is_include_file: true}}\n", header);
  const std::string name = CoreNameOf(package);
  std::string out = fmt::format(
      "CAPI=2:\n"
      "# A FuseSoC core of this folder, emitted by Kiln:\n"
      "#   fusesoc --cores-root . run --target=lint {0}\n"
      "# Other targets: sim, and synth with --part=PART\n"
      "name: \"{0}\"\ndescription: {1}\n\nfilesets:\n",
      name, Quoted(package.title));
  out += FilesetOf("rtl", PlainFiles(package.sources), "systemVerilogSource");
  out += FilesetOf("contents", CopiedFiles(package.contents), "user");
  out += FilesetOf("waivers", PlainFiles({kWaivers}), "vlt");
  out += FilesetOf("constraints", PlainFiles({kConstraints}), "xdc");
  out += FilesetOf("testbench", headers + PlainFiles(package.programs), "cppSource");
  out += FilesetOf("data", CopiedFiles(package.data), "user");
  out += fmt::format(
      "\ntargets:\n"
      "  default:\n    filesets: [rtl{1}]\n    toplevel: {0}\n"
      "  lint:\n    filesets: [waivers, rtl{1}]\n    toplevel: {0}\n"
      "    default_tool: verilator\n    tools:\n      verilator:\n        mode: lint-only\n",
      package.top.name, contents);
  out += ListOf("verilator_options", {"-Wall"});
  if (!package.programs.empty()) {
    out += fmt::format(
        "  sim:\n    filesets: [waivers, rtl{}, testbench{}]\n    toplevel: {}\n"
        "    default_tool: verilator\n    tools:\n      verilator:\n        mode: cc\n",
        contents, package.data.empty() ? "" : ", data", package.top.name);
    // As the Makefile does (rtl/testbench/Makefile).
    out += ListOf("verilator_options",
                  {"-O3", "-Wall", "--assert", "-DKILN_AXI_CHECKER", "--x-assign unique",
                   "--x-initial unique", "-CFLAGS -w", "-CFLAGS -std=c++20"});
    std::istringstream arguments(package.simulation_arguments);
    std::vector<std::string> words;
    for (std::string word; arguments >> word;) words.push_back(word);
    if (!words.empty()) out += ListOf("run_options", words);
  }
  out += fmt::format(
      "  synth:\n"
      "    filesets: [rtl{}, constraints]\n    toplevel: {}\n    default_tool: vivado\n",
      contents, package.top.name);
  return out;
}

}  // namespace kiln::hardware
