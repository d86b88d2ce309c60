// What prediction does to a network, as text, JSON and a picture.
#ifndef KILN_TARGETS_BINARY_COMMAND_PREDICTION_REPORT_H_
#define KILN_TARGETS_BINARY_COMMAND_PREDICTION_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/binary/predict_pools.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {

// One setting of the prediction on the measured images.
struct PredictionRow {
  std::string name;
  std::optional<double> budget;  // of trained thresholds
  StageCounts counts;            // of all layers of the machine
  int64_t steps = 0;             // outputs times the steps of their layers
  int64_t labelled = 0, right = 0;
  std::optional<double> decibels;  // of the outputs against those without prediction
  int64_t cycles = 0;              // of the first measured image
  double picojoules = 0;           // of an image on the chip, on average
  // Of rows about maximum pooling, which have no counts, no steps and no cycles.
  double lead = 0;
  PoolCounts pools;

  // Adds what a run counted.
  void Add(const NetworkProgram& program, const NetworkCounts& run);
  double low() const { return Share(counts.low, counts.outputs); }
  double decided() const { return Share(counts.decided, counts.outputs); }
  double wrong() const { return Share(counts.wrong, counts.outputs); }
  double saved() const { return 1 - Share(counts.looked_up, steps); }

  static double Share(int64_t part, int64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }
};

// Returns the energy of an image on the chip, in picojoules at a node. `counts` are those of any
// number of images. Error: no such node.
StatusOr<double> OnChipPicojoules(const NetworkProgram& program, const NetworkCounts& counts,
                                  int node_nm);

// The first of `rows` is the one without prediction. `pools` are rows about maximum pooling, often
// none.
std::string PredictionText(const std::vector<PredictionRow>& rows,
                           const std::vector<PredictionRow>& pools);
std::string PredictionJson(const std::vector<PredictionRow>& rows,
                           const std::vector<PredictionRow>& pools);
// Draws saved look-ups against wrong outputs, and against the outputs' noise or the accuracy.
std::string PredictionSvg(const std::vector<PredictionRow>& rows);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMMAND_PREDICTION_REPORT_H_
