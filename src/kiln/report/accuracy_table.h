// The accuracy of one network in many number formats: as text, JSON, and a page with a picture of accuracy against
// bits.
#ifndef KILN_REPORT_ACCURACY_TABLE_H_
#define KILN_REPORT_ACCURACY_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/report/run_report.h"

namespace kiln {

struct AccuracyTable {
  struct Row {
    std::string format;   // as it was asked for; of the reference level RunReport::reference
    std::string machine;  // the design point's variant; empty at the reference level
    std::optional<AccuracyReport> accuracy;   // where there are labels
    std::optional<AccuracyReport> agreement;  // classes equal to fp32's, where there are none
    std::vector<OutputFidelity> outputs;      // against fp32's
    double activation_bits = 32,
           weight_bits = 32;  // of an operand element, shares of block scales included
    double picojoules = 0;    // of all multiplications of one image
    double host_share = 0;    // of the operations
    std::optional<HostReason> host_reason;  // of the largest part of it
    double images_per_second = 0;
    std::string fault;  // why there are no figures
    // The least of all outputs' signal to quantisation noise ratios.
    std::optional<double> output_sqnr_db() const;
    // The network's mean of activation and weight bits, the abscissa of the picture.
    double bits() const { return (activation_bits + weight_bits) / 2; }
  };
  std::string model, data, accelerator, calibration;
  std::string no_accuracy;  // why there is none
  int64_t images = 0;
  std::vector<Row> rows;  // the first is the reference level
  std::vector<std::string> notes;

  // With a line about each format that the host has a share of, and why.
  std::vector<std::string> AllNotes() const;
};

// A line a format: accuracy, drop against the first row in points, bits, energy, images a second. Energy is an estimate
// (quantise/energy.h).
std::string ToText(const AccuracyTable& table);
std::string ToJson(const AccuracyTable& table);
// One page without scripts: the table, and a picture of accuracy (or decibels) against bits.
std::string ToHtml(const AccuracyTable& table);

}  // namespace kiln

#endif  // KILN_REPORT_ACCURACY_TABLE_H_
