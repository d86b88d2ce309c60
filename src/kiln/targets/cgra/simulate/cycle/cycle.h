// The cycle level: the machine, clock cycle by clock cycle (docs/cgra-machine.md).
#ifndef KILN_TARGETS_CGRA_SIMULATE_CYCLE_CYCLE_H_
#define KILN_TARGETS_CGRA_SIMULATE_CYCLE_CYCLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln::cgra {

struct CycleOptions {
  // Probabilities with which, in each cycle, the stream in offers no new beat and the stream out
  // takes none.
  double in_stalls = 0, out_stalls = 0;
  uint64_t seed = 1;
  int64_t most_cycles = 0;  // 0: no limit
  // The memory that the stream in is read from and the stream out is stored in
  // (hardware/stream_memory_model.h), in place of stalls at random; and how many beats are stored.
  std::optional<hardware::AxiTiming> memory = {};
  int64_t beats_out = 0;
};

struct CycleResult {
  std::vector<uint8_t> bytes;  // of the stream out
  // Cycles from the first input beat to the last output beat, or, behind memory, from the start to
  // the end of the run (register CYCLES, docs/driver.md). Units:
  //   in, out    beats of the streams, as the hardware counts them
  //   load       beats of writes, which dispatch takes
  //   dispatch   its other beats, and repeated deliveries; stalls "no beat", "ring full", "run"
  //   fabric     fabric cycles; stalls "inputs" and "outputs full" at the begin of a period
  //   tile N     fabric cycles in which it fires
  // and the queue of each output. Each unit but `in` has a span for every run, `load` one for all
  // writes before a run: from its first busy cycle to its last; `out` from the first result that
  // leaves its queue to the last. What `out` does after the last span of `fabric` drains the run.
  // Spans have the kernel 0; more than 65,536 of them are joined (Trace::span_resolution).
  Trace trace;
  int64_t cycles_in_all = 0;  // until the machine has come to rest
};

// A machine: what its memories hold, from stream to stream. All are 0 at first.
class CycleMachine {
 public:
  // The design point must pass CheckStreamMachine.
  explicit CycleMachine(const Config& config);
  ~CycleMachine();
  CycleMachine(const CycleMachine&) = delete;
  CycleMachine& operator=(const CycleMachine&) = delete;

  // Sends a stream to the machine until it has executed all commands. Errors: a stream of no whole
  // number of beats; a write outside of memories; a run with an entry that Check refuses; more
  // cycles than the limit; a machine that waits forever, because the stream ends within a command
  // or the program waits for itself.
  StatusOr<CycleResult> Run(std::span<const uint8_t> stream, const CycleOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_CYCLE_CYCLE_H_
