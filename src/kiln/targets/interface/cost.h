// The area and the clock of a design point and the energy of a program, as estimated by models
// without synthesis.
#ifndef KILN_TARGETS_INTERFACE_COST_H_
#define KILN_TARGETS_INTERFACE_COST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/interface/clock.h"

namespace kiln {

// Default technology node of reported costs, in nm: the node of the published energies.
inline constexpr int kDefaultNode = 45;

// The area of one unit of the machine, in square micrometres at Cost::node_nm.
struct UnitArea {
  std::string unit;
  double logic = 0;   // standard cells, without wires
  double memory = 0;  // on-chip memories
  int64_t memory_bits = 0;
  double total() const { return logic + memory; }
};

// The energy of one event of a kind.
struct EventEnergy {
  std::string event;  // "multiply-accumulate int8 x int8 + int32"
  double picojoules = 0;
};

// The cost of a machine. Figures that the family cannot estimate are negative, and such lists are
// empty.
struct Cost {
  int64_t multipliers = -1;  // multiply-accumulate units
  int64_t on_chip_memory_bits = -1;
  int node_nm = kDefaultNode;  // of everything below
  double area_square_micrometres = -1;
  // The area of the logic over the area of a two-input NAND gate; the same at every node.
  double gate_equivalents = -1;
  // Relative error of the logic's area models against synthesis, on points that were not used to
  // fit them: the mean, weighted by area, and the largest.
  double area_error = -1, area_error_worst = -1;
  std::string area_error_worst_model;  // the model with the largest error, in words
  // The share of the logic's area, 0 to 1, whose models were checked on such points.
  double area_checked_share = -1;
  std::vector<std::string> missing;  // parts without a model, which the area does not include
  std::vector<UnitArea> units;
  std::vector<EventEnergy> events;
  MachineClock clock;              // the modelled clock, at the same node
  std::string source;              // where the figures come from
  std::vector<std::string> notes;  // the limits of the figures
};

// All events of one kind in a unit.
struct EnergyPart {
  std::string unit;
  std::string event;
  int64_t count = 0;
  double picojoules_each = 0;
  double picojoules() const { return static_cast<double>(count) * picojoules_each; }
};

// The energy of one image.
struct Energy {
  int node_nm = kDefaultNode;
  std::vector<EnergyPart> parts;
  std::string source;
  // Appends a part unless `count` is 0.
  void Add(std::string unit, std::string event, int64_t count, double picojoules_each) {
    if (count > 0) parts.push_back({std::move(unit), std::move(event), count, picojoules_each});
  }
  // Returns the sum over all parts.
  double picojoules() const {
    double sum = 0;
    for (const EnergyPart& part : parts) sum += part.picojoules();
    return sum;
  }
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_COST_H_
