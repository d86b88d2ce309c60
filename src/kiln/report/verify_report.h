// What `kiln verify` found: whether the functional, cycle and rtl levels agree, image by image and kernel by kernel.
#ifndef KILN_REPORT_VERIFY_REPORT_H_
#define KILN_REPORT_VERIFY_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/accelerator.h"

namespace kiln {

struct VerifiedKernel {
  std::string name, operation;
  int64_t operations = 0;            // as KernelInfo counts them
  int64_t cycle_level = 0, rtl = 0;  // cycles of the first image
};

// A kernel that the host runs, at every level alike: nothing about it is verified.
struct HostKernel {
  std::string name, operation;
  int64_t operations = 0;
  std::string reason;
};

// What a unit did in the whole of the first image: a counter of the machine, and what the cycle level says of it.
struct VerifiedCounter {
  std::string unit, name;  // "array", "busy", "waiting: input bank empty", "bytes read"
  int64_t cycle_level = 0, rtl = 0;
  bool timed = true;  // counts cycles; else bytes, which are the same behind any memory
};

// The hardware's signals around the first difference.
struct VerifiedWaveform {
  std::string file, kernel;
  int64_t image = -1;  // -1: none differs
  Waveform window;     // not recorded: the image runs like at the cycle level
};

struct VerifyReport {
  std::string model, accelerator;
  int64_t images = 0;
  // Images whose output bits differ from the functional level's.
  int64_t different_at_cycle_level = 0, different_at_rtl = 0;
  std::string first_difference;        // where; empty when there is none
  int64_t first_different_image = -1;  // at the rtl level, in bits or cycles; -1: none
  bool timed = true;                   // cycles are compared: an ideal memory
  std::string untimed_reason;          // why not, otherwise
  std::vector<int64_t> cycle_level_cycles, rtl_cycles;  // one an image
  uint64_t seed = 1;                      // of what registers hold at power-up, of stalls
  std::vector<VerifiedKernel> kernels;    // on the accelerator, in order: the compared ones
  std::vector<HostKernel> host_kernels;   // in order
  std::vector<VerifiedCounter> counters;  // unit by unit; none where the RTL has none
  double functional_seconds = 0, cycle_seconds = 0,
         rtl_seconds = 0;                    // of running; rtl: emitting and building, too
  std::optional<VerifiedWaveform> waveform;  // what was recorded, where that was asked for
  std::vector<std::string> notes;

  bool bits_agree() const { return different_at_cycle_level == 0 && different_at_rtl == 0; }
  bool cycles_agree() const;  // of every image and kernel; true when not timed
  bool Compared(const VerifiedCounter& counter) const { return timed || !counter.timed; }
  bool counters_agree() const;    // of those that are compared
  double verified_share() const;  // of the network's operations, those of `kernels`; 0 to 1
  bool agrees() const { return bits_agree() && cycles_agree() && counters_agree(); }
};

// Compares the three runs of one batch and fills in what they say. `program` names the kernels.
void CompareLevels(const Program& program, const RunResult& functional, const RunResult& cycle,
                   const RunResult& rtl, VerifyReport* report);

std::string ToText(const VerifyReport& report);
std::string ToJson(const VerifyReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_VERIFY_REPORT_H_
