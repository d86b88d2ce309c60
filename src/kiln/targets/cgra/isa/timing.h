// The cycles of runs whose streams do not stall, without simulation: the closed form that compilers
// and estimates use. docs/cgra-machine.md is the source of every constant.
#ifndef KILN_TARGETS_CGRA_ISA_TIMING_H_
#define KILN_TARGETS_CGRA_ISA_TIMING_H_

#include <cstdint>

#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

// When a run of a program is over, in clock cycles, if beats are always there and results are
// always taken.
struct RunTimes {
  int64_t last_beat = 0;    // in which the last result is sent
  int64_t next_header = 0;  // in which dispatch can take the next header
};

// Returns the times of a run of at least one thread whose header dispatch takes in cycle `header`.
// Takes time in the order of threads times outputs: start of periods, deliveries and results follow
// from those before by a recurrence.
RunTimes TimesOfRun(const CgraProgram& program, int64_t threads, int64_t header);

// Returns the cycles, from the first input beat to the last output beat, of a stream that loads a
// program and runs threads once, sending the results of at least the last one.
int64_t CyclesOf(const CgraProgram& program, int64_t threads);

// Returns the cycles between two threads of a long run: the greatest of the interval, deliveries
// and results of a thread. Threads take longer if the tile memories hold the inputs of too few, or
// if an early result waits for a late one longer than its queue is deep; TimesOfRun counts that.
int64_t CyclesOfThread(const CgraProgram& program);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_TIMING_H_
