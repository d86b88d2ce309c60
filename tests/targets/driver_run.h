// Runs the C driver of an emitted folder on its simulated machine, for the tests of all families.
#ifndef TESTS_TARGETS_DRIVER_RUN_H_
#define TESTS_TARGETS_DRIVER_RUN_H_

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln {

// What driver/main.c prints.
struct DriverRun {
  std::string text;
  std::string verdict;  // the first word of the last line: "PASS", "FAIL" or "DONE"
  uint64_t cycles = 0;
  std::map<std::string, uint64_t> counters;
};

// Parses the example's output.
inline DriverRun ParseDriverRun(const std::string& text) {
  DriverRun run;
  run.text = text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> run.verdict;
    if (run.verdict.ends_with(':')) run.verdict.pop_back();
    if (run.verdict == "cycles") words >> run.cycles;
    if (run.verdict != "counter") continue;
    words >> name;
    words >> run.counters[name];
  }
  return run;
}

// Builds the simulation of the folder and the driver's example with gcc -std=c99 -Wall -Wextra
// -Werror -pedantic (driver/Makefile), and runs the example. Errors: a compiler's message; an exit
// code other than 0, with the last lines of the output.
inline StatusOr<DriverRun> RunDriver(const std::filesystem::path& folder) {
  KILN_RETURN_IF_ERROR(hardware::BuildSimulation(folder).status());
  const std::filesystem::path log = folder / "driver.log", driver = folder / "driver";
  KILN_RETURN_IF_ERROR(
      RunProgram({"make", "-s", "-C", driver.string(), "build/main_simulation", "CC=gcc"}, log));
  KILN_RETURN_IF_ERROR(RunProgram(
      {(driver / "build/main_simulation").string(), (folder / "build/simulate").string()}, log));
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  return ParseDriverRun(text);
}

}  // namespace kiln

#endif  // TESTS_TARGETS_DRIVER_RUN_H_
