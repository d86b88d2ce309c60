// The cycle level: the machine's registers from clock to clock, with the values that decide how
// long it takes.
#ifndef KILN_TARGETS_BINARY_SIMULATE_CYCLE_CYCLE_H_
#define KILN_TARGETS_BINARY_SIMULATE_CYCLE_CYCLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/interface/trace.h"

namespace kiln::binary {

struct CycleResult {
  StageResults results;
  // The stream out, and the cycle in which each of its beats leaves, counted from the first input
  // beat; behind memory, from the start of the run.
  std::vector<uint8_t> beats;
  std::vector<int64_t> beat_cycles;
  // Cycles from the first input beat to the last output beat, or, behind memory, from the start to
  // the end of the run (register CYCLES, docs/driver.md). Units:
  //   in, out    beats of the streams
  //   stage N    cycles in which a round is active; stalls "no tables" while the next round's are
  //              not there, "results" while both pixels' sums wait to be read
  // Queues: what is added ("skip N"), results for the next stage ("stage N to stage N+1") and for
  // the stream out ("stage N to out").
  Trace trace;
  // Look-ups that were done: one output channel in all tables of a stage.
  int64_t lookups = 0;
};

// Loads a program that passes Check, and runs it on the records of all pixels (AppendRun). With
// `memory`, the machine is behind it (hardware/stream_memory_model.h): the beats are read from it,
// and the results stored, by stage.
// Error: the machine waits forever.
StatusOr<CycleResult> RunCycle(const BlockProgram& program, std::span<const int32_t> records,
                               const std::optional<hardware::AxiTiming>& memory = {});

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_SIMULATE_CYCLE_CYCLE_H_
