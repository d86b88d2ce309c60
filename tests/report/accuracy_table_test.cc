// Tests of the accuracy table's text, JSON and HTML forms.
#include "kiln/report/accuracy_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/report/well_formed.h"

namespace kiln {
namespace {

AccuracyTable ExampleTable() {
  AccuracyTable table;
  table.model = "net <1>";
  table.data = "images.bin";
  table.accelerator = "machine";
  table.calibration = "others.bin";
  table.images = 1000;
  const auto row = [&](std::string format, int64_t correct, double activation_bits,
                       double weight_bits) {
    AccuracyTable::Row r;
    r.format = std::move(format);
    r.accuracy = AccuracyReport{.images = 1000, .correct = correct};
    r.activation_bits = activation_bits;
    r.weight_bits = weight_bits;
    r.picojoules = 2.5e6;
    r.images_per_second = 123.4;
    table.rows.push_back(r);
  };
  row("fp32", 900, 32, 32);
  row("int8", 897, 8, 8);
  row("mxfp4", 850, 4.25, 4.25);
  AccuracyTable::Row fault;
  fault.format = "int64";
  fault.fault = "no such thing";
  table.rows.push_back(fault);
  return table;
}

TEST(AccuracyTable, TextHasALineForEachFormat) {
  const std::string text = ToText(ExampleTable());
  EXPECT_NE(text.find("int8     89.70 %  897/1,000  0.30"), std::string::npos) << text;
  EXPECT_NE(text.find("mxfp4    85.00 %  850/1,000  5.00             4.25         4.25"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("int64: not run: no such thing"), std::string::npos) << text;
}

TEST(AccuracyTable, NotesSayWhyTheHostHasAShare) {
  AccuracyTable table = ExampleTable();
  table.notes.push_back("first");
  table.rows[1].host_share = 0.04;
  table.rows[1].host_reason = HostReason{"x < y", 0.04};
  table.rows[2].host_share = 0.5;
  table.rows[2].host_reason = HostReason{"of blocks", 0.3};
  const std::vector<std::string> notes = {
      "first", "int8: 4.00 % of the operations on the host, because x < y",
      "mxfp4: 50.00 % of the operations on the host, 30.00 % because of blocks"};
  EXPECT_EQ(table.AllNotes(), notes);
  EXPECT_NE(ToText(table).find("note: " + notes[2] + "\n"), std::string::npos) << ToText(table);
  EXPECT_NE(ToHtml(table).find("because x &lt; y</p>"), std::string::npos);
  const auto json = nlohmann::json::parse(ToJson(table));
  EXPECT_EQ(json["notes"], nlohmann::json(notes));
  EXPECT_EQ(json["rows"][2]["host_reason"], "of blocks");
  EXPECT_TRUE(json["rows"][0]["host_reason"].is_null());
}

TEST(AccuracyTable, JsonHoldsWhatTheTableShows) {
  const auto json = nlohmann::json::parse(ToJson(ExampleTable()));
  ASSERT_EQ(json["rows"].size(), 4u);
  EXPECT_EQ(json["rows"][1]["accuracy"]["correct"], 897);
  EXPECT_NEAR(json["rows"][2]["drop_points"].get<double>(), 5.0, 1e-9);
  EXPECT_EQ(json["rows"][2]["weight_bits"], 4.25);
  EXPECT_EQ(json["rows"][3]["fault"], "no such thing");
  EXPECT_TRUE(json["rows"][0]["agreement"].is_null());
}

TEST(AccuracyTable, PageIsWellFormedWithAPointForEachMeasuredFormat) {
  const std::string page = ToHtml(ExampleTable());
  EXPECT_EQ(WellFormedFault(page), "");
  size_t points = 0;
  for (size_t at = page.find("<circle"); at != std::string::npos; at = page.find("<circle", at + 1))
    ++points;
  EXPECT_EQ(points, 3u);
  EXPECT_EQ(page.find("net <1>"), std::string::npos) << "not escaped";
}

TEST(AccuracyTable, WithoutLabelsDecibelsStandForAccuracy) {
  AccuracyTable table = ExampleTable();
  for (AccuracyTable::Row& row : table.rows) {
    row.accuracy.reset();
    if (row.fault.empty()) row.outputs = {{"boxes", 30.0, 0}};
  }
  EXPECT_NE(ToText(table).find("30.0 dB"), std::string::npos);
  EXPECT_NE(ToText(table).find("SQNR"), std::string::npos);
}

// Of several outputs the table shows the worst, JSON all of them.
TEST(AccuracyTable, EveryOutputIsNamed) {
  AccuracyTable table = ExampleTable();
  for (AccuracyTable::Row& row : table.rows) {
    row.accuracy.reset();
    if (!row.fault.empty()) continue;
    row.outputs = {{"boxes", 30.0, 0}, {"scores", 12.5, 0}, {"kept", std::nullopt, 0.75}};
  }
  EXPECT_NE(ToText(table).find("12.5 dB"), std::string::npos);
  EXPECT_NE(ToText(table).find("least SQNR"), std::string::npos);
  const auto outputs = nlohmann::json::parse(ToJson(table))["rows"][1]["outputs"];
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0]["name"], "boxes");
  EXPECT_EQ(outputs[1]["sqnr_db"], 12.5);
  EXPECT_TRUE(outputs[2]["sqnr_db"].is_null());
  EXPECT_EQ(outputs[2]["equal_share"], 0.75);
}

}  // namespace
}  // namespace kiln
