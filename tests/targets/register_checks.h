// Compares a register map with the documents, with the constants of a SystemVerilog package as
// Yosys elaborates them, and with the addresses that a simulated machine answers.
#ifndef TESTS_TARGETS_REGISTER_CHECKS_H_
#define TESTS_TARGETS_REGISTER_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/register_map.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {

// The lists of registers and counters are in the map's page.
inline void ExpectInDocument(const RegisterMap& map) {
  const auto page = ReadFile(map.page);
  ASSERT_TRUE(page.ok()) << page.status();
  for (const std::string& list : {RegisterList(map), CounterList(map)}) {
    EXPECT_NE(page->find("\n" + list), std::string::npos) << map.page << " must have this list:\n\n"
                                                          << list;
  }
}

// A field and the package's constant that holds its lowest bit.
struct FieldConstant {
  std::string reg, field, constant;
};

// The package's constants are the map's addresses, values, fields and errors. An error is the
// constant `error_prefix` with its name in capitals.
inline void ExpectConstants(const RegisterMap& map, const std::string& package,
                            const std::vector<FieldConstant>& fields,
                            const std::string& error_prefix) {
  std::map<std::string, uint32_t> expected = {{"IDENTITY_VALUE", map.identity}};
  if (map.version != 0) expected["VERSION_VALUE"] = map.version;
  for (const Register& r : map.registers) {
    expected[r.name] = r.address;
    if (r.words == 2) expected[r.name + "_HIGH"] = r.address + 4;
    for (const RegisterField& field : r.fields) {
      for (const FieldConstant& f : fields) {
        if (f.reg == r.name && f.field == field.name)
          expected[f.constant] = static_cast<uint32_t>(field.low);
      }
    }
  }
  for (const RegisterValue& error : FindRegister(map, map.control.error).values) {
    std::string name = error_prefix + error.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    expected[name] = error.value;
  }

  const auto library = RtlLibrary();
  const auto folder = TemporaryFolder::Create("kiln-registers");
  ASSERT_TRUE(library.ok() && folder.ok());
  std::string ports, values;
  for (const auto& [name, value] : expected) {
    ports += fmt::format("{}output [31:0] \\{} ", ports.empty() ? "" : ", ", name);
    values += fmt::format("  assign \\{} = {}::{};\n", name, package, name);
  }
  const std::string top = fmt::format("module top ({});\n{}endmodule\n", ports, values);
  const auto files = NeededFiles(*library, top);
  ASSERT_TRUE(files.ok()) << files.status();
  std::string script;
  for (const std::string& file : *files)
    script += fmt::format("read_verilog -sv {}\n", (*library / file).string());
  const auto source = folder->path() / "top.sv", result = folder->path() / "rtlil",
             commands = folder->path() / "elaborate.ys";
  ASSERT_TRUE(WriteFile(source, top).ok());
  script += fmt::format("read_verilog -sv {}\nproc\nwrite_rtlil -selected {}\n", source.string(),
                        result.string());
  ASSERT_TRUE(WriteFile(commands, script).ok());
  const Status run =
      RunProgram({"yosys", "-q", "-s", commands.string()}, folder->path() / "yosys.log");
  ASSERT_TRUE(run.ok()) << run;
  const auto text = ReadFile(result);
  ASSERT_TRUE(text.ok()) << text.status();
  std::map<std::string, uint32_t> found;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string connect, name, value;
    words >> connect >> name >> value;
    if (connect != "connect" || !name.starts_with("\\")) continue;
    const size_t tick = value.find('\'');
    found[name.substr(1)] = static_cast<uint32_t>(
        tick == std::string::npos ? std::stoull(value)
                                  : std::stoull(value.substr(tick + 1), nullptr, 2));
  }
  EXPECT_EQ(found, expected);
}

// Compiles a C program with the folder's driver for its simulated machine, runs it and returns what
// it prints. Its exit code must be 0. The folder's driver has been built.
inline std::string RunC(const std::string& program, const std::filesystem::path& folder,
                        bool with_driver) {
  const auto driver = folder / "driver", binary = folder / "test_program",
             log = folder / "test_program.log";
  std::vector<std::string> compile = {"gcc",     "-std=c99",      "-Wall", "-Wextra",
                                      "-Werror", "-pedantic",     "-I",    driver.string(),
                                      "-o",      binary.string(), program};
  if (with_driver) {
    compile.push_back((driver / "kiln_driver.c").string());
    compile.push_back((driver / "kiln_platform_simulation.c").string());
  }
  Status status = RunProgram(compile, log);
  if (status.ok())
    status = RunProgram({binary.string(), (folder / "build/simulate").string()}, log);
  EXPECT_TRUE(status.ok()) << status;
  return ReadFile(log).value_or("");
}

// The simulated machine answers reads of the map's readable words, and of no other address, and
// has the map's identity.
inline void ExpectAnsweredAddresses(const RegisterMap& map, const std::filesystem::path& folder) {
  std::set<uint32_t> answered;
  for (const RegisterWord& word : WordsOf(map)) {
    if (word.readable) answered.insert(word.address);
  }
  for (uint32_t at = map.first_unused; at < map.last_unused; at += 4) answered.insert(at);
  std::string expected;
  for (const uint32_t address : answered) expected += fmt::format("0x{:03x}\n", address);
  EXPECT_EQ(RunC("tests/targets/register_probe.c", folder, false), expected);
}

}  // namespace kiln::hardware

#endif  // TESTS_TARGETS_REGISTER_CHECKS_H_
