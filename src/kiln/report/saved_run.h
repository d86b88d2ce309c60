// A run as its JSON (`kiln run --json`, docs/report.md) tells it, for comparisons.
#ifndef KILN_REPORT_SAVED_RUN_H_
#define KILN_REPORT_SAVED_RUN_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// A kernel of a saved run. Absent figures are not known.
struct SavedKernel {
  std::string name, operation;
  bool on_host = false;
  std::optional<double> cycles;  // that it adds to the run, or the compiler's estimate of them
};

// The figures of a saved run, of one image. Absent figures are not known.
struct SavedRun {
  std::string file;         // that it was read from
  std::string model;        // the network's name
  std::string accelerator;  // empty at the reference level
  std::string format;       // name of the quantised network; empty without one
  std::string memory;       // the memory behind the machine, as --memory names it; empty: ideal
  std::string objective;    // what schedules were chosen for; empty without a machine
  bool estimated = false;   // cycles and times are the compiler's estimates
  bool clock_confirmed = false;
  bool partial = false;  // the host does more than a tenth of the operations
  double macs = 0;       // of the network
  double host_share = 0;
  std::optional<double> accuracy;  // the accelerator's, or at the reference level that level's
  std::optional<double> seconds, images_per_second, cycles, mhz;
  // From the start of an image to its end, in seconds. `seconds` is the share of an image in it if
  // the machine works on several at once.
  std::optional<double> latency;
  std::optional<double> picojoules, watts, area_um2, utilisation;
  bool area_incomplete = false;  // there is an area, without modules that have no model
  std::vector<SavedKernel> kernels;
  bool kernels_estimated = false;  // the kernels' cycles are the compiler's estimates
  // Kernels are stages that work at the same time, and most add few cycles to the run: their cycles
  // say nothing beside those of other machines.
  bool pipelined = false;
};

// Parses the JSON of a run. `source` names it in messages.
//   errors  text that is not JSON or not a run's report; a report of another version of the schema;
//           keys that are missing or of the wrong type; more kernels than the budget
StatusOr<SavedRun> ParseSavedRun(std::string_view text, std::string_view source);
StatusOr<SavedRun> ReadSavedRun(const std::filesystem::path& file);

}  // namespace kiln

#endif  // KILN_REPORT_SAVED_RUN_H_
