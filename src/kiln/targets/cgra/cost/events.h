// The events of launches that consume energy, counted from their programs. They depend neither on
// data nor on time, so that nothing need run at any level.
#ifndef KILN_TARGETS_CGRA_COST_EVENTS_H_
#define KILN_TARGETS_CGRA_COST_EVENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/interface/cost.h"

namespace kiln::cgra {

// How often a program runs for one image. The program must outlive it.
struct LaunchWork {
  const CgraProgram* program = nullptr;
  int64_t runs = 1, threads = 1, first_sent = 0;
};

// The events of a launch. Vectors have Config::lanes elements.
struct LaunchEvents {
  int64_t integer_products = 0, float_products = 0;  // of vectors; shifts count as logic
  int64_t integer_logic = 0, float_logic = 0;        // of vectors
  int64_t memory_reads = 0, memory_writes = 0;       // of vectors in tile memories
  int64_t line_writes = 0, line_reads = 0;           // of messages in delay lines
  int64_t hops = 0;                                  // tiles that messages move over
  int64_t instructions = 0;                          // that are fetched
  int64_t beats_in = 0, beats_out = 0;
};
// Counts the events of one image: per thread for everything that spoke entries do, once for
// loading.
LaunchEvents EventsOf(const LaunchWork& work);

// Returns the energy of one event of each kind on a design point, in picojoules at a node
// (hardware/energy.h has the sources).
std::vector<EventEnergy> EventsOf(const Config& config, int node_nm);

// Returns the energy of launches for one image by unit (cost.h), in picojoules. Error: no such
// node.
StatusOr<Energy> EnergyOf(std::span<const LaunchWork> launches, const Config& config, int node_nm);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COST_EVENTS_H_
