// Everything that one run of one network on one design point has to tell, and its three forms: text for a terminal,
// JSON for programs, HTML for people (html.h).
#ifndef KILN_REPORT_RUN_REPORT_H_
#define KILN_REPORT_RUN_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// How often the network's answer was the label.
struct AccuracyReport {
  int64_t images = 0;
  int64_t correct = 0;  // the label had the highest score
  int64_t labels =
      0;  // labels compared, where images have one for each pixel or token; 0: one for each image
  int top_k = 1;              // above 1: correct_top_k is counted, too
  int64_t correct_top_k = 0;  // the label was among the top_k highest scores
  int64_t compared() const { return labels > 0 ? labels : images; }
  double top1() const { return ShareOf(correct); }
  double top() const { return top_k > 1 ? ShareOf(correct_top_k) : top1(); }

 private:
  double ShareOf(int64_t count) const {
    return compared() == 0 ? 0 : static_cast<double>(count) / static_cast<double>(compared());
  }
};

// How near one output is to the reference level's, over all images.
struct OutputFidelity {
  std::string name;
  // Signal to quantisation noise in decibels: power of the reference over power of the difference. Absent for types
  // other than fp32, without signal, and where both are equal.
  std::optional<double> sqnr_db;
  double equal_share = 0;  // of elements, those with the same bits at both levels, 0 to 1
};

// Texts that may be empty and counts that may be 0 were not known or not asked for.
struct RunReport {
  struct Model {
    std::string name, source;
    int64_t nodes = 0, parameters = 0, macs = 0;  // after the passes; MACs of one image
    std::string input, output;                    // "image 1x1x28x28"
  } model;
  struct Machine {
    std::string name, family, source;
    std::string description;  // Accelerator::Describe
    double peak_macs_per_cycle = 0;
    Cost cost;
  };
  std::optional<Machine> machine;  // none at the reference level
  std::optional<Energy> energy;    // of one image on it, where the family has a model
  struct Data {
    std::string source, kind, preprocess;
    int64_t images = 0;  // of those in the file
  } data;
  struct Quantisation {
    std::string recipe;       // empty: the network's own quantisation, then without calibration
    std::string calibration;  // "the first 200 images of train.gz"
    std::string
        format;  // what the quantised network is called in tables: the recipe's name, or own formats
    std::string Describe() const;
  };
  std::optional<Quantisation> quantisation;

  // What the reference level is called: "fp32", or "reference" where the network itself quantises.
  std::string reference = "fp32";
  std::optional<AccuracyReport> fp32, quantised;  // of the reference level, of the accelerator
  std::string no_accuracy;                        // why there is none
  std::vector<OutputFidelity> outputs;  // in the network's order; empty without both levels
  // Images on which fp32 and quantised give the same class; only of networks that classify.
  std::optional<AccuracyReport> agreement;
  std::optional<double> output_sqnr_db() const {
    return outputs.empty() ? std::nullopt : outputs[0].sqnr_db;
  }

  std::string level;                      // of the run over all images
  int64_t images_run = 0;                 // at that level
  double run_seconds = 0;                 // wall time of it on the simulating machine
  std::vector<int64_t> cycles_per_image;  // those worked on at once have the same (trace.images)
  int64_t compared_images = 0,
          different_images = 0;  // cycle level against functional level, bit by bit

  // What was written with --outputs.
  struct WrittenOutput {
    std::string name;            // the network's
    std::string array;           // in the file
    std::string type;            // of the values
    std::vector<int64_t> shape;  // first axis samples
    std::string quantisation;    // of the codes, as IR text has it; empty: no codes were written
  };
  std::string outputs_file;
  std::vector<WrittenOutput> written;

  std::vector<KernelInfo> kernels;  // of the program, in order
  int64_t constant_bytes = 0, activation_bytes = 0;
  std::optional<Trace> trace;  // of the first image, or the first that were worked on at once
  std::vector<std::string> notes;
};

// "'logits': signal to quantisation noise 31.2 dB".
std::string FidelityText(const OutputFidelity& output);

// "out.npz: logits f32 100x10 with codes": what was written with --outputs; empty where nothing was.
std::string WrittenText(const RunReport& report);

// "tiles of 14x28 pixels, optimal".
std::string ScheduleText(const KernelInfo& kernel);

// One kernel with its share of the time.
struct KernelRow {
  int kernel = 0;  // index into RunReport::kernels
  int64_t cycles =
      0;  // by which it moved the end of the run; kernels overlap, these sum up to the whole
  double share = 0;        // of the trace's cycles
  double utilisation = 0;  // multiply-accumulates done of those possible in `cycles`
};

// In program order; host kernels and kernels that the trace lacks have 0 cycles. Kernel k is charged the time from the
// latest end of the kernels before it to its own end. Empty without a trace.
std::vector<KernelRow> KernelRows(const RunReport& report);

// Share of operations that the host does, 0 to 1.
double HostShare(const RunReport& report);

// From this share of operations on the host, cycles, utilisation and energy are those of a part of the network: reports
// mark them as partial, so that nobody compares them with those of a whole network.
inline constexpr double kPartialHostShare = 0.1;
// Whether the report's cycles and energy are partial: HostShare is above kPartialHostShare.
bool IsPartial(const RunReport& report);
// What text and HTML write after a partial figure: " (PARTIAL: 0.01 % of the operations)"; empty for a whole network.
std::string PartialMark(const RunReport& report);

// Why operations are on the host: of all reasons the one that most of them are there for.
struct HostReason {
  std::string reason;
  double share = 0;  // of all operations, those that are there for it
};
std::optional<HostReason> LargestHostReason(const RunReport& report);  // none where nothing is
// For the end of a sentence that names the host's share: ", because ..." or, of several reasons, ", 4.1 % because ...".
std::string Because(const std::optional<HostReason>& reason, double host_share);

// What cycles_per_image are the cycles of: "image", "4 images at once".
std::string ImagesAtOnce(const RunReport& report);

// Multiply-accumulates of the accelerator's kernels over what it could have done in the trace's cycles.
double Utilisation(const RunReport& report);

// For a terminal; the table of kernels holds the `top` slowest.
std::string ToText(const RunReport& report, int top = 12);

// Keys stay as they are from version to version; "kiln_report" counts the schema (1).
std::string ToJson(const RunReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_RUN_REPORT_H_
