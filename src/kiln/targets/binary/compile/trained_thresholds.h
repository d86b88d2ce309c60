// Thresholds of the prediction that were trained on data. A model carries them in its metadata, so
// that every command that compiles it for a machine with `prediction: predicted` uses them.
//
// The text is JSON. For each layer, named by its result, it has a list for each number of look-up
// steps after which the layer is tested: a value for each output channel.
//   {"relu1": {"1": [0.25, -0.5, ...]}}
#ifndef KILN_TARGETS_BINARY_COMPILE_TRAINED_THRESHOLDS_H_
#define KILN_TARGETS_BINARY_COMPILE_TRAINED_THRESHOLDS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln::binary {

// The key in a model's metadata.
inline constexpr std::string_view kThresholdsMetadataKey = "kiln.binary.thresholds";

// By the number of steps that are done before the test: for each output channel, the least value
// that the result must have so far to be continued. The value is a real number of the tensor, with
// the bias, as if the steps that are left were to add nothing; where the layer ends in a sign, the
// number before it.
using LayerThresholds = std::map<int, std::vector<double>>;
// By the name of the layer's result.
using TrainedThresholds = std::map<std::string, LayerThresholds, std::less<>>;

// Reads the text. Errors name `source` and the layer: text that is not as above, values that are
// not finite.
StatusOr<TrainedThresholds> ParseThresholds(std::string_view text, std::string_view source);
// Returns text that is read as the same thresholds. Error: a layer's name is not UTF-8, which JSON
// cannot express.
StatusOr<std::string> PrintThresholds(const TrainedThresholds& thresholds);

// Returns the thresholds in a graph's metadata; none if it has none.
//   errors  the errors of ParseThresholds; a layer that is no value of the graph; a list of another
//           length than the value has channels
StatusOr<TrainedThresholds> ThresholdsOf(const Graph& graph);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMPILE_TRAINED_THRESHOLDS_H_
