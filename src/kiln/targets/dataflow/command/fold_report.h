// The output of `kiln dataflow fold` and `kiln dataflow explain`: folds of a network as text, JSON
// and a picture.
#ifndef KILN_TARGETS_DATAFLOW_COMMAND_FOLD_REPORT_H_
#define KILN_TARGETS_DATAFLOW_COMMAND_FOLD_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/compile/fold_network.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/fold/objective.h"
#include "kiln/targets/dataflow/fold/pareto.h"

namespace kiln::cli {

// A fold of a network on a device.
struct FoldView {
  const dataflow::Config& config;
  const dataflow::NetworkProblem& network;
  const dataflow::Fold& fold;
  const dataflow::FoldMetrics& metrics;
};

// Returns how many kinds of resources to show, from the first on: memory ports only where the
// design point has some.
size_t ShownKinds(const dataflow::Config& config);

// Returns images per second at an interval in cycles.
double ImagesPerSecond(const dataflow::Config& config, int64_t cycles);
// Returns "12,204 images/s at 200 MHz, an image every 16,388 cycles".
std::string SpeedText(const dataflow::Config& config, int64_t cycles);

// Returns a table with a line for each layer: lanes, processing elements, cycles with a bar that
// shows which share of the interval the layer works, and resources; then sums beside the limits.
std::string FoldTable(const FoldView& view);
// Returns the same as an SVG picture: a bar for each layer.
std::string FoldPicture(const FoldView& view);
// Returns the same as JSON with the keys `interval_cycles`, `images_per_second`, `idle_cycles`,
// `latency_cycles`, `resources`, `limits` and `layers`.
nlohmann::ordered_json FoldJson(const FoldView& view);

// What limits a fold, as text and JSON: the slowest layers, the proof, what more of each resource
// would buy, and the floor that no device gets below.
struct Explanation {
  std::string text;
  nlohmann::ordered_json json;
};
//   fronts  of each kind of resource by itself, of folds as fast as this one
Explanation Explain(const FoldView& view, const dataflow::FoldCertificate& certificate,
                    const std::vector<dataflow::ParetoFront>& fronts);

// Returns a table of the points of a front, each with what the next faster one would need.
std::string FrontTable(const dataflow::Config& config, const dataflow::FoldProblem& problem,
                       const dataflow::ParetoFront& front);
nlohmann::ordered_json FrontJson(const dataflow::Config& config,
                                 const dataflow::FoldProblem& problem,
                                 const dataflow::ParetoFront& front);

// Returns resources by name as JSON; amounts without limit are null.
nlohmann::ordered_json ResourcesJson(const dataflow::Resources& resources);
// Returns the certificate of a search as JSON.
nlohmann::ordered_json CertificateJson(const dataflow::FoldProblem& problem,
                                       const dataflow::FoldCertificate& certificate);

}  // namespace kiln::cli

#endif  // KILN_TARGETS_DATAFLOW_COMMAND_FOLD_REPORT_H_
