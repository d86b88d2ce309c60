// Compares the FPGA model with what Yosys made of four machines (unit_resources.csv, by
// bench/dataflow_resources).
#include "kiln/targets/dataflow/cost/fpga_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/support/file.h"

namespace kiln::dataflow {
namespace {

constexpr size_t kFirstFeature = 13;  // the column after memory_lut

std::vector<std::vector<std::string>> Rows() {
  const auto text = ReadFile("tests/data/dataflow/unit_resources.csv");
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text.ok() ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows;
}

double Modelled(const std::vector<std::string>& row) {
  LutFeatures features = {};
  for (size_t i = 0; i < features.size(); ++i) features[i] = std::stod(row[kFirstFeature + i]);
  return std::stod(row[12]) + static_cast<double>(FittedLuts(features));
}

TEST(FpgaModel, FeaturesAreTheColumnsOfTheSample) {
  const auto rows = Rows();
  ASSERT_GT(rows.size(), 100u);
  const auto names = LutFeatureNames();
  ASSERT_EQ(rows[0].size(), kFirstFeature + names.size());
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(rows[0][kFirstFeature + i], names[i]);
}

TEST(FpgaModel, SlicesAndMemoriesAreThoseOfYosys) {
  for (const auto& row : Rows()) {
    if (row[0] == "network" || row[3] == "machine") continue;
    for (const size_t column : {6, 7, 8}) EXPECT_EQ(row[column], row[column + 3]) << row[2];
  }
}

// Sums over all units of a machine: the errors of small units cancel.
TEST(FpgaModel, LutsOfMachinesAreWithinAQuarter) {
  std::map<std::string, std::pair<double, double>> sums;
  for (const auto& row : Rows()) {
    if (row[0] == "network" || row[3] == "machine") continue;
    sums[row[0]].first += Modelled(row);
    sums[row[0]].second += std::stod(row[5]);
  }
  ASSERT_EQ(sums.size(), 4u);
  for (const auto& [network, sum] : sums) EXPECT_NEAR(sum.first / sum.second, 1, 0.25) << network;
}

// Stages that the fit has not seen.
TEST(FpgaModel, LutsOfConvolutionsKeptOut) {
  double error = 0;
  int count = 0;
  for (const auto& row : Rows()) {
    if (row[3] != "convolution" || row[4] != "1") continue;
    error += std::abs(Modelled(row) / std::stod(row[5]) - 1);
    ++count;
  }
  ASSERT_GE(count, 8);
  EXPECT_LT(error / count, 0.15);
}

}  // namespace
}  // namespace kiln::dataflow
