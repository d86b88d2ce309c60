// Runs one network on many design points, for `kiln sweep`.
#ifndef KILN_FLOW_SWEEP_H_
#define KILN_FLOW_SWEEP_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/flow/flow.h"
#include "kiln/report/sweep_table.h"

namespace kiln {

// A key of design points, and the values that it takes in turn.
struct VariedKey {
  std::string key;
  std::vector<std::string> values;
};

// Parses "input_port_bytes=16,32". Errors: another form; a value given twice, or without a letter
// or digit; a character that is not a letter, a digit or one of "_.+-", because values become names
// of files.
StatusOr<VariedKey> ParseVariedKey(std::string_view text);

// A design point of a sweep.
struct SweepPoint {
  std::string name;
  std::filesystem::path file;
  // Of a variant: the file that it is a variant of, its keys with their values, and the text of its
  // own file.
  std::filesystem::path base = {};
  std::vector<std::pair<std::string, std::string>> varied = {};
  std::string text = {};
};

// Returns the design points that `patterns` name, each once and in their order. A pattern is the
// path of YAML files, or a name of what ListResources finds, with * for any text and ? for any
// character; without patterns, all that ListResources finds.
//   errors  a pattern that no design point fits, more design points than the budget
StatusOr<std::vector<SweepPoint>> FindSweepPoints(const std::vector<std::string>& patterns);

// Returns each point once for each combination of the keys' values. The names of variants, and
// their keys `name`, are the point's with keys and values: "systolic-int8-8x8-input_port_bytes-32".
// Their files are NAME.yaml in `folder`; nothing is written.
//   errors  a key that the point's family does not have; a file in which it is not on a line of its
//           own; two variants of one name; more variants than the budget
StatusOr<std::vector<SweepPoint>> VariantsOf(const std::vector<SweepPoint>& points,
                                             const std::vector<VariedKey>& keys,
                                             const std::filesystem::path& folder);

// Writes the files of variants. Error: a file that exists with another text, before any is written.
Status WriteVariants(const std::vector<SweepPoint>& variants);

struct SweepOptions {
  FlowOptions flow;  // its accelerator is each of `points` in turn
  std::vector<SweepPoint> points;
  SweepRank rank = SweepRank::kEnergy;
  std::optional<double> limit_seconds;  // from the start of an image to its end
  bool any_host = false;                // also rank design points whose host does more
  // Receives each run that succeeded; may be empty. Its error ends the sweep.
  std::function<Status(const SweepPoint&, const RunReport&)> save;
};

// Runs the network on each design point (RunFlow) and ranks them, with at least as many made-up
// samples as a machine works on at once. The row of a design point that cannot run, or that leaves
// the whole network to the host, holds the reason.
//   errors  those of model, data and recipe; no design point that runs: the first reason; levels
//           that differ
StatusOr<SweepTable> Sweep(const SweepOptions& options, const FlowProgress& progress = {});

}  // namespace kiln

#endif  // KILN_FLOW_SWEEP_H_
