// The results of one run of one network on one design point, and their forms: text for a terminal,
// JSON for programs (json.cc), HTML for people (html.h). The command line fills the structure.
#ifndef KILN_REPORT_RUN_REPORT_H_
#define KILN_REPORT_RUN_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/quantise/scores.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Counts of correct answers: images, or pixels and tokens, with the label as the network's answer.
struct AccuracyReport {
  int64_t images = 0;
  int64_t correct = 0;  // the label has the highest score
  // Labels compared, if images have one label per pixel or token; 0 if images have one label each.
  int64_t labels = 0;
  int top_k = 1;                            // if above 1, correct_top_k is counted too
  int64_t correct_top_k = 0;                // the label is among the top_k highest scores
  std::optional<Confusion> confusion = {};  // of labels and answers, if counted
  // Returns the number of answers that were compared with a label.
  int64_t compared() const { return labels > 0 ? labels : images; }
  // Return the share of correct answers, 0 to 1: of the highest score, and of the top_k highest.
  double top1() const { return ShareOf(correct); }
  double top() const { return top_k > 1 ? ShareOf(correct_top_k) : top1(); }

 private:
  double ShareOf(int64_t count) const {
    return compared() == 0 ? 0 : static_cast<double>(count) / static_cast<double>(compared());
  }
};

// The fidelity of one output to the reference level's, over all images.
struct OutputFidelity {
  std::string name;
  // Signal to quantisation noise ratio in decibels: power of the reference over power of the
  // difference. Absent for types other than fp32, for a reference of zero power, and for equal
  // outputs.
  std::optional<double> sqnr_db;
  double equal_share = 0;  // share of elements with the same bits at both levels, 0 to 1
};

// The report of a run. Empty texts and zero counts were not known or not requested.
struct RunReport {
  // The network after the passes.
  struct Model {
    std::string name, source;
    int64_t nodes = 0, parameters = 0, macs = 0;  // MACs per image
    std::string input, output;                    // for example "image 1x1x28x28"
  } model;
  // The accelerator.
  struct Machine {
    std::string name, family, source;
    std::string description;  // Accelerator::Describe
    double peak_macs_per_cycle = 0;
    double clock_mhz = 0;  // 0 if the design point states none
    Cost cost;
  };
  // The memory behind the machine's ports, if one was named.
  struct Memory {
    std::string text;  // "19.2GB/s,100ns"
    double mhz = 0;    // the clock at which these are cycles
    double bytes_per_cycle = 0;
    int64_t latency_cycles = 0;
    int64_t row_miss_cycles = 0;  // more for a burst to another row of its bank
  };
  std::optional<Memory> memory;
  std::optional<Machine> machine;  // absent at the reference level
  std::optional<Energy> energy;    // per image on that machine, if the family has an energy model
  std::string objective;           // what schedules minimise; empty at the reference level
  // The data set.
  struct Data {
    std::string source, kind, preprocess;
    int64_t images = 0;  // in the data set
  } data;
  // How the network was quantised.
  struct Quantisation {
    std::string recipe;       // empty: by the network itself, without calibration
    std::string calibration;  // for example "the first 200 images of train.gz"
    // The name of the quantised network in tables: the recipe's name, or the network's own formats.
    std::string format;
    // Returns recipe and calibration in one phrase.
    std::string Describe() const;
  };
  std::optional<Quantisation> quantisation;

  // Name of the reference level: "fp32", or "reference" if the network itself quantises.
  std::string reference = "fp32";
  std::optional<AccuracyReport> fp32, quantised;  // of the reference level and the accelerator
  std::string no_accuracy;                        // why there is no accuracy
  std::vector<OutputFidelity> outputs;  // in the network's order; empty unless both levels ran
  // Images given the same class by both levels; only for networks that classify.
  std::optional<AccuracyReport> agreement;
  // Returns the counts of labels and answers at the level under test; null if they were not
  // counted.
  const Confusion* confusion() const {
    const std::optional<AccuracyReport>& accuracy = quantised.has_value() ? quantised : fp32;
    return accuracy.has_value() && accuracy->confusion.has_value() ? &*accuracy->confusion
                                                                   : nullptr;
  }
  // Returns the fidelity of the first output in decibels.
  std::optional<double> output_sqnr_db() const {
    return outputs.empty() ? std::nullopt : outputs[0].sqnr_db;
  }

  std::string level;                      // of the run over all images
  int64_t images_run = 0;                 // at that level
  double run_seconds = 0;                 // its wall time on the simulating machine
  std::vector<int64_t> cycles_per_image;  // equal for images that run at once (Trace::images)
  // Cycle level against functional level, bit by bit.
  int64_t compared_images = 0, different_images = 0;

  // One output in the file of --outputs.
  struct WrittenOutput {
    std::string name;            // of the network's output
    std::string array;           // name of the array in the file
    std::string type;            // element type of the values
    std::vector<int64_t> shape;  // the first axis is the samples
    std::string quantisation;    // annotation of the codes, as IR text; empty without codes
  };
  std::string outputs_file;
  std::vector<WrittenOutput> written;

  std::vector<KernelInfo> kernels;      // the program's kernels in order
  std::vector<KernelPicture> pictures;  // Accelerator::DrawKernels, for HTML only
  int64_t constant_bytes = 0, activation_bytes = 0;
  int64_t interval_cycles = 0;     // Program::interval_cycles
  int64_t images_at_once = 1;      // Program::images_at_once
  std::optional<Traffic> traffic;  // absent if the family does not count it
  std::optional<Trace> trace;      // of the first image, or of the images that run at once with it
  std::vector<std::string> notes;
};

// Formats the fidelity of an output: "'logits': signal to quantisation noise 31.2 dB".
std::string FidelityText(const OutputFidelity& output);

// Formats the contents of the --outputs file: "out.npz: logits f32 100x10 with codes". Empty if
// none was written.
std::string WrittenText(const RunReport& report);

// Formats the memory behind the ports: "19.2GB/s,100ns: 192 bytes a cycle ..."; empty without one.
std::string MemoryText(const RunReport& report);

// Formats the interval of images that follow one another: "8,208 cycles between images, 24,366
// images/s at 200 MHz". Empty if the machine finishes an image before it begins the next.
std::string IntervalText(const RunReport& report);

// Formats schedule and proof of a kernel: "tiles of 14x28 pixels, optimal".
std::string ScheduleText(const KernelInfo& kernel);

// The share of one kernel in the run's time.
struct KernelRow {
  int kernel = 0;  // index into RunReport::kernels
  // Cycles by which the kernel moves the end of the run. Kernels overlap; these cycles add up to
  // the whole run.
  int64_t cycles = 0;
  double share = 0;  // of the trace's cycles
  // The kernel's multiply-accumulates over those that the machine can do in `cycles`. Absent if the
  // kernel has none, or if it has more than that: it then also worked in cycles that are charged to
  // other kernels.
  std::optional<double> utilisation;
};

// Returns one row per kernel in program order; empty without a trace. Kernel k is charged the time
// from the latest end of all earlier kernels to its own end. Host kernels and kernels that the
// trace lacks have 0 cycles.
std::vector<KernelRow> KernelRows(const RunReport& report);

// Returns the host's share of the operations, 0 to 1.
double HostShare(const RunReport& report);

// If the host does more than this share of the operations, cycles, utilisation and energy describe
// only a part of the network. Reports then mark them as partial, so that nobody compares them with
// the figures of a whole network.
inline constexpr double kPartialHostShare = 0.1;
// Returns whether the report's cycles and energy are partial (HostShare exceeds kPartialHostShare).
bool IsPartial(const RunReport& report);
// Returns the text that follows partial figures: " (PARTIAL: 0.01 % of the operations, ...)"; empty
// if the figures are not partial.
std::string PartialMark(const RunReport& report);

// The reason for which most operations are on the host.
struct HostReason {
  std::string reason;
  double share = 0;  // of all operations, those on the host for this reason; 0 to 1
};
// Returns that reason; nullopt if nothing runs on the host.
std::optional<HostReason> LargestHostReason(const RunReport& report);
// Returns the end of a sentence that names the host's share: ", because ..." or, if there are
// several reasons, ", 4.1 % because ...".
std::string Because(const std::optional<HostReason>& reason, double host_share);

// Returns the unit that cycles_per_image counts by: "image" or "4 images at once".
std::string ImagesAtOnce(const RunReport& report);

// Returns multiply-accumulates of the accelerator's kernels over the number possible in the trace's
// cycles, 0 to 1; nothing if these kernels have none, or if there is no trace or machine.
std::optional<double> Utilisation(const RunReport& report);
// Returns it as "41.2 %", "under 0.1 %", or "-" if there is none.
std::string UtilisationText(const RunReport& report);

// Formats the report for a terminal. The kernel table holds the `top` slowest kernels.
std::string ToText(const RunReport& report, int top = 12);

// The version of the schema of a report's JSON, its key "kiln_report". In version 1, times were at
// the design point's clock even where the model refuted it; in version 2, the modelled clock could
// come from units that were timed alone.
inline constexpr int kReportVersion = 3;
// Formats the report as JSON. Keys are stable between versions.
std::string ToJson(const RunReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_RUN_REPORT_H_
