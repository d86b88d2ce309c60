// A built simulation (simulation_cache.h) as a process. The protocol of
// rtl/testbench/kiln_simulate_session.h writes its memory, runs programs, and reads memory,
// counters and events.
#ifndef KILN_HARDWARE_SIMULATION_SESSION_H_
#define KILN_HARDWARE_SIMULATION_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/process.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A running simulation. The machine is reset once, at the start, so that its state after a run is
// the state before the next run.
//
// Errors of every call name the program: it has ended (with the last lines that it printed, for
// example those of a failed assertion of the hardware); it refuses the request (with its reason);
// its answer violates the protocol or is longer than requested. After an error every further call
// fails with the same error.
class SimulationSession {
 public:
  // A range of addresses, [begin, end).
  struct Range {
    uint64_t begin, end;
  };
  // The result of a run. Without `ended` there are no counters, and no further run is possible.
  struct Outcome {
    bool ended;  // whether the run ended within the limit
    uint64_t cycles, error, error_place;
  };

  // Starts the program. `options` are its command-line options: the memory's timing and the seed.
  static StatusOr<SimulationSession> Start(const std::filesystem::path& program,
                                           const std::vector<std::string>& options);

  // Replaces the memory by `ranges`, in ascending order, filled with zeros.
  Status Map(std::span<const Range> ranges);
  // Write or read bytes of the memory.
  Status Write(uint64_t address, std::span<const uint8_t> bytes);
  Status Read(uint64_t address, std::span<uint8_t> bytes);

  // Records cycles [begin, end] of the next run to an FST file, which is complete after that run.
  // Error: the simulation was not built with tracing.
  Status Record(const std::filesystem::path& file, int64_t begin, int64_t end);

  // Runs a program for at most `most_cycles` cycles; 0 means no limit. The family's testbench
  // defines `words`, which select the program.
  StatusOr<Outcome> Run(std::span<const uint64_t> words, uint64_t most_cycles);

  // Return `count` counters of the last run, or `lists` lists of cycles with at most `most` cycles
  // in total.
  StatusOr<std::vector<uint64_t>> Counters(size_t count);
  StatusOr<std::vector<std::vector<int64_t>>> Events(size_t lists, size_t most);

 private:
  SimulationSession(TemporaryFolder folder, std::string name, ChildProcess process)
      : folder_(std::move(folder)), name_(std::move(name)), process_(std::move(process)) {}

  // Sends a request: a command with numbers and bytes.
  Status Send(uint64_t command, std::span<const uint64_t> numbers,
              std::span<const uint8_t> bytes = {});
  // Receives the head of an answer and returns its number of bytes, which must be at most `most`.
  StatusOr<uint64_t> Head(uint64_t most);
  // Receives an answer of exactly this size.
  Status Answer(std::span<uint8_t> bytes);
  // Stores an error, if it is one, so that every later call returns it. Returns `status`.
  Status Keep(Status status);
  // Stores and returns the error of an answer that violates the protocol.
  Status Wrong(const std::string& what);

  TemporaryFolder folder_;  // contains the log
  std::string name_;
  ChildProcess process_;
  Status broken_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SIMULATION_SESSION_H_
