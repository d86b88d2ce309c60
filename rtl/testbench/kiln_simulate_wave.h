// Records the signals of a simulation, or of some cycles of a run, to an FST file. Self-contained
// C++17, because it is copied into emitted designs. Without KILN_TRACE (TRACE=1) nothing is
// recorded.
#ifndef KILN_RTL_TESTBENCH_KILN_SIMULATE_WAVE_H_
#define KILN_RTL_TESTBENCH_KILN_SIMULATE_WAVE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "kiln_simulate_options.h"
#ifdef KILN_TRACE
#include <verilated_fst_c.h>
#endif

namespace kiln::testbench {

// A waveform of the model `Top`.
template <typename Top>
class Wave {
 public:
#ifdef KILN_TRACE
  static constexpr bool kRecords = true;
#else
  static constexpr bool kRecords = false;
#endif
  explicit Wave(Top* top) : top_(top) {}

  // Start recording to a file: everything, or cycles [from, to] of runs. Fail without KILN_TRACE.
  void RecordAll(const std::string& file) { Open(file), whole_ = true; }
  void Record(const std::string& file, uint64_t from, uint64_t to) {
    Open(file), whole_ = false, from_ = from, to_ = to;
  }
  // Completes the file and ends the recording.
  void Close() {
#ifdef KILN_TRACE
    if (file_) file_->close();
    file_.reset();
#endif
  }

  // Records one half of a clock cycle, for the Dump function of a bench. `time` counts the clock
  // cycles of the simulation, `cycle` those of the run; `running` is false outside of runs.
  void Dump(bool running, uint64_t cycle, uint64_t time, int half) {
#ifdef KILN_TRACE
    if (!file_ || !(whole_ || (running && cycle >= from_ && cycle <= to_))) return;
    file_->dump(2 * time + static_cast<uint64_t>(half));
#endif
  }

 private:
  void Open(const std::string& file) {
#ifdef KILN_TRACE
    file_ = std::make_unique<VerilatedFstC>();
    top_->trace(file_.get(), 99);
    file_->open(file.c_str());
#else
    Fail("--wave needs a simulation built with TRACE=1");
#endif
  }

  Top* top_;
#ifdef KILN_TRACE
  std::unique_ptr<VerilatedFstC> file_;
#endif
  bool whole_ = false;
  uint64_t from_ = 0, to_ = 0;
};

}  // namespace kiln::testbench

#endif  // KILN_RTL_TESTBENCH_KILN_SIMULATE_WAVE_H_
