// A simulation as a process that reads requests from its standard input and answers them on its
// standard output: the other end of src/kiln/hardware/simulation_session.h. Self-contained C++17,
// because it is copied into emitted designs.
//
// Numbers have 8 bytes in the byte order of the host. The simulation first sends kProtocol. Then
// requests and answers alternate:
//
//   request   command, number of payload bytes, payload
//   answer    0, or 1 if refused; number of payload bytes; payload (of a refusal: the reason)
//
//   command     request                        answer
//   1 map       begin, end, begin, end, ...
//   2 write     address, bytes
//   3 run       limit in cycles, family words  1 if it ended, cycles, error, place of the error
//   4 read      address, size                  bytes
//   5 counters                                 counters of the last run
//   6 events                                   lists of the last run: for each its length, cycles
//   7 record    first cycle, last, file name
//   8 register  address                        value, 1 if the response is an error
//   9 register  address, value                 1 if the response is an error
//   10 idle     cycles
//
// `map` defines the address ranges that are memory, and clears them; accesses of the machine to
// other addresses fail. `record` writes the signals of these cycles of the next run to the file,
// which is complete when the run is answered. A run that did not end has no counters; the machine
// is then in the middle of a program and cannot be used any more.
//
// Commands 8 to 10 are for software that runs programs by itself: they read and write a register
// over AXI4-Lite, and let the clock run.
#ifndef KILN_RTL_TESTBENCH_KILN_SIMULATE_SESSION_H_
#define KILN_RTL_TESTBENCH_KILN_SIMULATE_SESSION_H_

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kiln_axi_memory.h"

namespace kiln::testbench {

constexpr uint64_t kProtocol = 0x314d49534e4c494b;  // "KILNSIM1"

// The result of a run: whether it ended, its cycles, the error code (0 for none) and its place, the
// counters, and lists of cycles in which events occurred.
struct SessionRun {
  uint64_t ended = 0, cycles = 0, error = 0, error_place = 0;
  std::vector<uint64_t> counters;
  std::vector<std::vector<uint64_t>> events;
};

// The functions that a family's testbench provides to a session.
struct SessionMachine {
  AxiMemory* memory;
  // `run` runs for at most `limit` cycles; its words follow the limit in the request. A request
  // with another number of words than `words` is refused.
  size_t words;
  std::function<SessionRun(uint64_t limit, const std::vector<uint64_t>& words)> run;
  // Records cycles `from` to `to` of the next run. Returns false if the simulation cannot record.
  std::function<bool(const std::string& file, uint64_t from, uint64_t to)> record;
  // Only of machines with registers. The first reads a register and sets `error`; the second writes
  // one and returns false for an error response.
  std::function<uint32_t(uint32_t address, bool* error)> read_register;
  std::function<bool(uint32_t address, uint32_t value)> write_register;
  // Lets this many cycles pass.
  std::function<void(uint64_t cycles)> idle;
};

// Connects the registers and the clock of a bench to its session.
template <typename Bench>
void ServeRegisters(Bench& bench, SessionMachine& machine) {
  machine.read_register = [&bench](uint32_t address, bool* error) {
    return bench.ReadRegister(address, error);
  };
  machine.write_register = [&bench](uint32_t address, uint32_t value) {
    return bench.WriteRegister(address, value);
  };
  machine.idle = [&bench](uint64_t cycles) { bench.Idle(cycles); };
}

// The server of a session: executes requests until its input ends.
class Session {
 public:
  // Redirects the standard output of the model to the error output, so that the standard output
  // carries only answers.
  explicit Session(SessionMachine machine)
      : machine_(std::move(machine)), answers_(dup(STDOUT_FILENO)) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }

  // Serves requests until the input ends. Returns the exit code.
  int Serve() {
    Send(&kProtocol, sizeof kProtocol);
    for (uint64_t head[2]; Receive(head, sizeof head);) {
      std::vector<uint8_t> body(head[1]);
      if (!Receive(body.data(), body.size())) return 2;
      answer_.clear();
      const char* refusal = Do(head[0], body);
      if (refusal != nullptr) answer_.assign(refusal, refusal + std::strlen(refusal));
      const uint64_t tail[2] = {refusal != nullptr, answer_.size()};
      Send(tail, sizeof tail);
      Send(answer_.data(), answer_.size());
    }
    return 0;
  }

 private:
  static constexpr const char* kNoRegisters = "this machine has no registers";

  // Executes a command and sets the answer. Returns null, or the reason of a refusal.
  const char* Do(uint64_t command, const std::vector<uint8_t>& body) {
    const std::vector<uint64_t> words = WordsOf(body);
    std::vector<uint8_t>& memory = machine_.memory->bytes();
    switch (command) {
      case 1:
        return Map(words);
      case 2:
        if (words.empty() || !Holds(words[0], body.size() - 8)) return "no such memory";
        if (body.size() > 8)
          std::memcpy(memory.data() + words[0], body.data() + 8, body.size() - 8);
        return nullptr;
      case 3:
        if (words.size() != machine_.words + 1) return "not what a run takes";
        last_ = machine_.run(words[0], {words.begin() + 1, words.end()});
        Answer({last_.ended, last_.cycles, last_.error, last_.error_place});
        return nullptr;
      case 4:
        if (words.size() != 2 || !Holds(words[0], words[1])) return "no such memory";
        answer_.assign(memory.begin() + static_cast<std::ptrdiff_t>(words[0]),
                       memory.begin() + static_cast<std::ptrdiff_t>(words[0] + words[1]));
        return nullptr;
      case 5:
        Answer(last_.counters);
        return nullptr;
      case 6:
        for (const std::vector<uint64_t>& cycles : last_.events) {
          Answer({cycles.size()});
          Answer(cycles);
        }
        return nullptr;
      case 7:
        if (words.size() < 2) return "no cycles to record";
        if (!machine_.record({body.begin() + 16, body.end()}, words[0], words[1]))
          return "this simulation cannot record (it is built without TRACE=1)";
        return nullptr;
      case 8: {
        if (!machine_.read_register) return kNoRegisters;
        if (words.size() != 1) return "not what a read takes";
        bool error = false;
        const uint32_t value = machine_.read_register(static_cast<uint32_t>(words[0]), &error);
        Answer({value, error});
        return nullptr;
      }
      case 9:
        if (!machine_.write_register) return kNoRegisters;
        if (words.size() != 2) return "not what a write takes";
        Answer({!machine_.write_register(static_cast<uint32_t>(words[0]),
                                         static_cast<uint32_t>(words[1]))});
        return nullptr;
      case 10:
        if (!machine_.idle) return kNoRegisters;
        if (words.size() != 1) return "not what idling takes";
        machine_.idle(words[0]);
        return nullptr;
      default:
        return "no such command";
    }
  }

  const char* Map(const std::vector<uint64_t>& ranges) {
    uint64_t before = 0;
    for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
      if (ranges[i] < before || ranges[i + 1] < ranges[i]) return "ranges out of order";
      before = ranges[i + 1];
    }
    // Rounds the size up to whole beats, because the last beat may extend beyond the last range.
    machine_.memory->bytes().assign((before + 127) / 128 * 128, 0);
    machine_.memory->Heal();
    before = 0;
    for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
      if (ranges[i] > before) machine_.memory->Poison(before, ranges[i] - before);
      before = ranges[i + 1];
    }
    return nullptr;
  }
  bool Holds(uint64_t address, uint64_t size) const {
    const uint64_t bytes = machine_.memory->bytes().size();
    return address <= bytes && size <= bytes - address;
  }

  static std::vector<uint64_t> WordsOf(const std::vector<uint8_t>& body) {
    std::vector<uint64_t> words(body.size() / 8);
    if (!words.empty()) std::memcpy(words.data(), body.data(), words.size() * 8);
    return words;
  }
  void Answer(const std::vector<uint64_t>& words) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    answer_.insert(answer_.end(), bytes, bytes + words.size() * 8);
  }

  // Receives exactly `bytes` bytes. Returns false if the input ends before.
  static bool Receive(void* to, size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = read(STDIN_FILENO, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
  void Send(const void* from, size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t put = write(answers_, at, bytes);
      if (put <= 0) std::exit(2);
      at += put;
      bytes -= static_cast<size_t>(put);
    }
  }

  SessionMachine machine_;
  int answers_;
  SessionRun last_;
  std::vector<uint8_t> answer_;
};

}  // namespace kiln::testbench

#endif  // KILN_RTL_TESTBENCH_KILN_SIMULATE_SESSION_H_
