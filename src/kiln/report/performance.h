// Time, rate and efficiency of a network on a machine, and whether the clock model confirms the
// clock that they are stated at. Reports of runs, of `kiln compile` and of `kiln verify` use it.
#ifndef KILN_REPORT_PERFORMANCE_H_
#define KILN_REPORT_PERFORMANCE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kiln/report/run_report.h"

namespace kiln {

// Figures at `mhz`, the clock that the models leave standing. Absent figures are not known.
struct Performance {
  int64_t cycles = 0;      // from the start of an image, or of the images at once, to its end
  bool estimated = false;  // the cycles are the compiler's estimates, kernel after kernel
  int64_t images = 1;      // that run in these cycles at the same time
  // Two operations for each multiply-accumulate (ir/work.h) of an image on the accelerator; the
  // host's do not count.
  int64_t operations = 0;
  std::optional<double> seconds;            // of the cycles
  std::optional<double> images_per_second;  // by the interval of machines that pipeline images
  std::optional<double> gops;               // 10^9 operations a second
  std::optional<double> gops_per_mm2;       // over the area at the node of the costs
  std::optional<double> tops_per_watt;      // operations over the energy of an image
  std::optional<double> watts;              // energy of an image times the rate; no leakage
  // The clock.
  double clock_mhz = 0;  // the design point's; 0: it states none
  // The clock of all figures; 0 if it is not known. It is clock_mhz, or the fastest clock by the
  // model if that is slower. Without a clock_mhz it is the modelled clock.
  double mhz = 0;
  int node_nm = 0;
  std::optional<double> modelled_mhz;  // the fastest clock by the model
  std::string in_place;                // MachineClock::in_place
  std::string unknown;                 // MachineClock::unknown()
  // Returns whether the model confirms clock_mhz.
  bool confirmed() const { return clock_mhz > 0 && modelled_mhz.value_or(0) >= clock_mhz; }
};

// Returns the cycles in which the memory of the report moves all bytes of the run's trace; 0
// without a memory.
int64_t MemoryCycles(const RunReport& report);

// Returns Performance::mhz of a machine whose design point states `clock_mhz`, or 0 if it states
// none: that clock, or the fastest by the model if that is slower. 0: it is not known.
double ClockOfFigures(double clock_mhz, const MachineClock& clock);

// Returns the figures of a run, or of a program that has not run; nullopt without a machine.
std::optional<Performance> PerformanceOf(const RunReport& report);

std::string Milliseconds(double seconds);               // formats "0.127 ms", "1,234 ms"
std::string ImagesPerSecond(double images_per_second);  // formats "71.0", "7,892"

// Formats what one waits for: "0.127 ms at 500 MHz, 7,892 images/s"; empty if it is not known.
std::string TimeText(const Performance& performance);

// Format the clock and whether the model confirms it, and the figures, in one line each: "500 MHz
// by the design point, NOT CONFIRMED: ..."; "0.335 ms per image, ...". The second is empty if
// nothing is known.
std::string ClockLine(const Performance& performance);
std::string SpeedLine(const Performance& performance);

// Returns the figures as an object, with null for what is not known; null without figures.
nlohmann::ordered_json PerformanceJson(const std::optional<Performance>& performance);

}  // namespace kiln

#endif  // KILN_REPORT_PERFORMANCE_H_
