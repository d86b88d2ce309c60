// What a design point costs, and what a program on it costs in energy: estimates of models, without
// synthesis.
#ifndef KILN_TARGETS_INTERFACE_COST_H_
#define KILN_TARGETS_INTERFACE_COST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

// The node that costs are stated at where nobody asks for another: that of the published energies.
inline constexpr int kDefaultNode = 45;  // nm

// One unit of the machine. Square micrometres at Cost::node_nm.
struct UnitArea {
  std::string unit;
  double logic = 0;   // standard cells, without wires
  double memory = 0;  // on-chip memories
  int64_t memory_bits = 0;
  double total() const { return logic + memory; }
};

struct EventEnergy {
  std::string event;  // "multiply-accumulate int8 x int8 + int32"
  double picojoules = 0;
};

// Filled as far as the family can; an absent figure is negative, an absent list empty.
struct Cost {
  int64_t multipliers = -1;  // multiply-accumulate units
  int64_t on_chip_memory_bits = -1;
  int node_nm = kDefaultNode;  // of everything below
  double area_square_micrometres = -1;
  double gate_equivalents = -1;  // of the logic: its area over that of a NAND gate with two inputs;
                                 // the same at every node
  // How far the models of the logic are from synthesis on points that they were not fitted to, as a
  // share of it: their mean, weighed with the units' areas, and the worst of all.
  double area_error = -1, area_error_worst = -1;
  double area_checked_share =
      -1;  // of the logic: how much of it is by models of which there are such points
  std::vector<std::string> missing;  // parts whose area is not in it: no model of them yet
  std::vector<UnitArea> units;
  std::vector<EventEnergy> events;  // picojoules of one
  std::string source;               // where the figures come from
  std::vector<std::string> notes;   // what they leave out
};

// Some events of one kind in a unit.
struct EnergyPart {
  std::string unit;
  std::string event;
  int64_t count = 0;
  double picojoules_each = 0;
  double picojoules() const { return static_cast<double>(count) * picojoules_each; }
};

// Of one image.
struct Energy {
  int node_nm = kDefaultNode;
  std::vector<EnergyPart> parts;
  std::string source;
  // Of events that there are; none of them: no part.
  void Add(std::string unit, std::string event, int64_t count, double picojoules_each) {
    if (count > 0) parts.push_back({std::move(unit), std::move(event), count, picojoules_each});
  }
  double picojoules() const {
    double sum = 0;
    for (const EnergyPart& part : parts) sum += part.picojoules();
    return sum;
  }
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_COST_H_
