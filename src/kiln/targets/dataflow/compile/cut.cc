// Renumbers segments and connects them by copies of maps.
#include "kiln/targets/dataflow/compile/cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace kiln::dataflow {
namespace {

// Replaces segments by pieces of segments. A map that crosses a cut keeps its number in its own
// piece; each later piece that reads it gets one copy, which is a source there. A map of the host
// that several pieces read is sent to each of them.
class Cutting {
 public:
  Cutting(const std::vector<int>& parts, Lowered* network) : parts_(parts), network_(*network) {}

  void Run() {
    NumberSegments();
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      NetworkLayer& layer = network_.layers[i];
      for (int& input : layer.inputs) input = InputOf(input, layer);
    }
    SplitSteps();
    network_.segments = static_cast<int>(network_.segment_parts.size());
  }

 private:
  // Numbers the pairs of a segment and a part that hold layers, in this order.
  void NumberSegments() {
    std::set<std::pair<int, int>> pairs;
    for (size_t i = 0; i < network_.layers.size(); ++i)
      pairs.emplace(network_.layers[i].segment, parts_[i]);
    for (const auto& [segment, part] : pairs) {
      pieces_[segment].push_back(static_cast<int>(network_.segment_parts.size()));
      numbers_[{segment, part}] = static_cast<int>(network_.segment_parts.size());
      network_.segment_parts.push_back(part);
    }
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      NetworkLayer& layer = network_.layers[i];
      layer.segment = numbers_.at({layer.segment, parts_[i]});
      network_.maps[static_cast<size_t>(layer.output)].segment = layer.segment;
    }
  }

  // Returns the map that a layer reads in its own segment in place of `map`.
  int InputOf(int map, const NetworkLayer& layer) {
    const NetworkMap original = network_.maps[static_cast<size_t>(map)];
    if (original.layer >= 0 && original.segment == layer.segment) return map;
    const auto known = copies_.find({map, layer.segment});
    if (known != copies_.end()) return known->second;
    int copy = map;
    const bool first_use = original.layer < 0 && placed_.insert(map).second;
    if (first_use) {  // what the host sends keeps its map where it is read first
      network_.maps[static_cast<size_t>(map)].segment = layer.segment;
    } else {
      copy = static_cast<int>(network_.maps.size());
      network_.maps.push_back(original);
      NetworkMap& place = network_.maps.back();
      place.layer = -1;
      place.segment = layer.segment;
      if (original.layer >= 0) {
        place.copied_from = map;
      } else {
        again_[map].push_back(copy);
      }
    }
    copies_[{map, layer.segment}] = copy;
    return copy;
  }

  // Replaces the step of each segment by those of its pieces.
  void SplitSteps() {
    std::vector<NetworkStep> steps;
    for (NetworkStep& step : network_.steps) {
      if (step.segment < 0) {
        steps.push_back(std::move(step));
        continue;
      }
      std::vector<HostTensor> sends;
      for (const HostTensor& tensor : step.sends) {
        sends.push_back(tensor);
        for (const int copy : again_[tensor.place.map]) {
          sends.push_back(tensor);
          sends.back().place.map = copy;
        }
      }
      for (const int piece : pieces_[step.segment]) {
        NetworkStep part;
        part.segment = piece;
        part.sends = Of(sends, piece);
        part.receives = Of(step.receives, piece);
        steps.push_back(std::move(part));
      }
    }
    network_.steps = std::move(steps);
  }

  std::vector<HostTensor> Of(const std::vector<HostTensor>& tensors, int segment) const {
    std::vector<HostTensor> found;
    std::ranges::copy_if(tensors, std::back_inserter(found), [&](const HostTensor& tensor) {
      return network_.maps[static_cast<size_t>(tensor.place.map)].segment == segment;
    });
    return found;
  }

  const std::vector<int>& parts_;
  Lowered& network_;
  std::map<std::pair<int, int>, int> numbers_;  // of a segment before the cut and a part
  std::map<int, std::vector<int>> pieces_;      // by segment before the cut
  std::map<std::pair<int, int>, int> copies_;   // of a map for a segment
  std::set<int> placed_;                        // maps of the host that have their segment
  std::map<int, std::vector<int>> again_;       // of a map of the host: its maps elsewhere
};

}  // namespace

void CutNetwork(const std::vector<int>& parts, Lowered* network) { Cutting(parts, network).Run(); }

}  // namespace kiln::dataflow
