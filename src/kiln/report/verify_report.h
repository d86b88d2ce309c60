// The result of `kiln verify`: whether the functional, cycle and rtl levels agree, image by image
// and kernel by kernel. The command runs the levels; CompareLevels compares them.
#ifndef KILN_REPORT_VERIFY_REPORT_H_
#define KILN_REPORT_VERIFY_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/report/performance.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// A kernel on the accelerator, with its time at both timed levels.
struct VerifiedKernel {
  std::string name, operation;
  int64_t operations = 0;            // as KernelInfo counts them
  int64_t cycle_level = 0, rtl = 0;  // cycles for the first image
};

// A kernel on the host. It runs alike at every level, so it is not verified.
struct HostKernel {
  std::string name, operation;
  int64_t operations = 0;
  std::string reason;
};

// One counter of the machine over the first image, and the cycle level's figure for it.
struct VerifiedCounter {
  std::string unit, name;  // "array", "busy", "waiting: input bank empty", "bytes read"
  int64_t cycle_level = 0, rtl = 0;
  bool timed = true;  // counts cycles; else bytes, which do not depend on the memory's timing
};

// The recording of the hardware's signals around the first difference.
struct VerifiedWaveform {
  std::string file, kernel;
  int64_t image = -1;  // -1: no image differs
  Waveform window;     // not recorded if the image runs as at the cycle level
  std::string fault;   // why the signals of a different image could not be recorded; "": they were
};

// The comparison of all levels over a batch of images.
struct VerifyReport {
  std::string model, accelerator;
  std::string objective;  // what schedules minimise
  int64_t images = 0;
  // Images whose output bits differ from the functional level's.
  int64_t different_at_cycle_level = 0, different_at_rtl = 0;
  std::string first_difference;        // its location; empty if there is none
  int64_t first_different_image = -1;  // at the rtl level, in bits or cycles; -1: none
  bool timed = true;                   // cycles are compared: the cycle level simulates the memory
  std::string untimed_reason;          // why they are not compared otherwise
  std::vector<int64_t> cycle_level_cycles, rtl_cycles;  // one per image
  uint64_t seed = 1;                      // of register contents at power-up and of stalls
  std::vector<VerifiedKernel> kernels;    // on the accelerator, in order; these are compared
  std::vector<HostKernel> host_kernels;   // in order
  std::vector<VerifiedCounter> counters;  // unit by unit; empty if the RTL has none
  // Wall times of running; that of the rtl level includes emitting and building.
  double functional_seconds = 0, cycle_seconds = 0, rtl_seconds = 0;
  std::optional<VerifiedWaveform> waveform;  // present if a recording was requested
  std::optional<Performance> performance;    // by the cycle level's cycles of the first image
  std::vector<std::string> notes;

  bool bits_agree() const { return different_at_cycle_level == 0 && different_at_rtl == 0; }
  bool cycles_agree() const;  // for every image and kernel; true if not timed
  // Returns whether a counter is compared: untimed runs compare only bytes.
  bool Compared(const VerifiedCounter& counter) const { return timed || !counter.timed; }
  bool counters_agree() const;    // for all counters that are compared
  double verified_share() const;  // share of the network's operations in `kernels`, 0 to 1
  bool agrees() const { return bits_agree() && cycles_agree() && counters_agree(); }
};

// Compares three runs of the same batch and fills in the results. `program` names the kernels.
void CompareLevels(const Program& program, const RunResult& functional, const RunResult& cycle,
                   const RunResult& rtl, VerifyReport* report);

std::string ToText(const VerifyReport& report);
std::string ToJson(const VerifyReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_VERIFY_REPORT_H_
