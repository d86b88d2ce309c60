// The accuracy of one network in many number formats, written as text, JSON and an HTML page with a
// plot of accuracy by format. The command `kiln accuracy` fills the table.
#ifndef KILN_REPORT_ACCURACY_TABLE_H_
#define KILN_REPORT_ACCURACY_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/quantise/layer_errors.h"
#include "kiln/report/run_report.h"

namespace kiln {

// Returns the name of a format that a network has beside its own quantisation: "own, int4 for the
// rest".
std::string BesideOwn(std::string_view format);

// One row per format, and the settings that all rows share.
struct AccuracyTable {
  // The result of one format. A row with a `fault` has no other figures.
  struct Row {
    std::string format;  // as the user named it; in the first row RunReport::reference
    // The design point or its variant; empty at the reference level.
    std::string machine;
    std::optional<AccuracyReport> accuracy;   // with labels
    std::optional<AccuracyReport> agreement;  // without labels: classes equal to the reference's
    std::vector<OutputFidelity> outputs;      // compared with the reference's outputs
    // Mean bits per operand element, including shares of block scales.
    double activation_bits = 32, weight_bits = 32;
    double picojoules = 0;                  // of all multiplications of one image, nothing else
    double host_share = 0;                  // the host's share of the operations, 0 to 1
    std::optional<HostReason> host_reason;  // why the largest part of them is on the host
    double images_per_second = 0;           // speed of the simulation
    std::optional<LayerErrors> layers;      // the error by layer, if it was measured
    // The network quantises values itself and keeps that: the format is of the rest only.
    bool keeps_own = false;
    std::string fault;  // the error of a format that cannot run; empty for others
    // Returns the least signal to quantisation noise ratio of all outputs, in decibels.
    std::optional<double> output_sqnr_db() const;
    // Returns the mean of activation and weight bits, by which the plot is sorted.
    double bits() const { return (activation_bits + weight_bits) / 2; }
    // Returns the format for tables and pictures: "int4", "own, int4 for the rest".
    std::string label() const;
  };
  std::string model, data, accelerator, calibration;
  std::string no_accuracy;  // why there are no accuracies; empty if there are some
  int64_t images = 0;
  std::vector<Row> rows;  // the first row is the reference level
  std::vector<std::string> notes;

  // Returns the notes, followed by one line per format that runs partly on the host, with the
  // reason.
  std::vector<std::string> AllNotes() const;
};

// Formats the table with one line per format: accuracy, drop against the first row in percentage
// points, bits, energy, images per second. Energy is an estimate (quantise/energy.h). Tables of the
// most frequent confusions and of the error by layer follow for each format that has them.
std::string ToText(const AccuracyTable& table);
// Formats the table as JSON. Values that are not finite or not known are null.
std::string ToJson(const AccuracyTable& table);
// Formats the table as one HTML page without scripts, with a plot of accuracy (or decibels) by
// format, from the most bits to the fewest.
std::string ToHtml(const AccuracyTable& table);

}  // namespace kiln

#endif  // KILN_REPORT_ACCURACY_TABLE_H_
