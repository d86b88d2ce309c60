// Tests of the accuracy table's text, JSON and HTML forms.
#include "kiln/report/accuracy_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "kiln/report/confusion_table.h"
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

// 40 points below the best a triangle says that the figure is lower; without one the page has none.
TEST(AccuracyTable, FiguresBelowTheAxisAreTriangles) {
  AccuracyTable table = ExampleTable();
  EXPECT_EQ(ToHtml(table).find("triangles"), std::string::npos);
  EXPECT_EQ(ToHtml(table).find("<path"), std::string::npos);
  table.rows[2].accuracy->correct = table.rows[2].accuracy->images / 10;
  const std::string page = ToHtml(table);
  EXPECT_EQ(WellFormedFault(page), "");
  EXPECT_NE(page.find("triangles are of figures that are lower than it goes"), std::string::npos);
  EXPECT_NE(page.find("<path class=\"u0\""), std::string::npos);
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
  // Points name their format, and a narrow page scrolls the table.
  EXPECT_NE(page.find("r=\"4\"><title>int8: 8 bits, 89.70 %</title>"), std::string::npos);
  EXPECT_NE(page.find("<div class=\"scroll\"><table>"), std::string::npos);
  EXPECT_EQ(page.find("net <1>"), std::string::npos) << "not escaped";
}

// Names of many formats with the same bits and figures must not cover one another.
TEST(AccuracyTable, EveryFormatHasALineOfItsOwnInThePicture) {
  AccuracyTable table = ExampleTable();
  for (int i = 0; i < 20; ++i) {
    table.rows.push_back(table.rows[1]);
    table.rows.back().format = fmt::format("format_{}", i);
  }
  const std::string page = ToHtml(table);
  const std::string svg = page.substr(page.find("<svg"), page.find("</svg>") - page.find("<svg"));
  std::set<std::string> heights;
  size_t names = 0;
  for (size_t at = svg.find("<text x=\"270.0\""); at != std::string::npos;
       at = svg.find("<text x=\"270.0\"", at + 1)) {
    const size_t y = svg.find("y=\"", at);
    EXPECT_TRUE(heights.insert(svg.substr(y, svg.find('"', y + 3) - y)).second)
        << svg.substr(at, 80);
    ++names;
  }
  EXPECT_EQ(names, 23u);
  // From the most bits to the fewest.
  EXPECT_LT(svg.find(">fp32<"), svg.find(">int8<"));
  EXPECT_LT(svg.find(">format_19<"), svg.find(">mxfp4<"));
}

// A recipe's path must not make the first column wider than a line.
TEST(AccuracyTable, LongNamesOfRecipesAreShortened) {
  AccuracyTable table = ExampleTable();
  table.rows[1].format = "/home/somebody/recipes/" + std::string(60, 'x') + "/int8-per-channel";
  table.rows[2].format = "/home/somebody/recipes/" + std::string(60, 'x') + "/int4-per-channel";
  const std::string text = ToText(table);
  EXPECT_THAT(text, testing::HasSubstr("…"));
  EXPECT_THAT(text, testing::HasSubstr("/int8-per-channel  "));
  EXPECT_THAT(text, testing::HasSubstr("/int4-per-channel  "));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(std::string(60, 'x'))));
}

// The energy is not the machine's, as the one of `kiln run` is.
TEST(AccuracyTable, TheEnergyIsSaidToBeOfMultiplications) {
  EXPECT_THAT(ToText(ExampleTable()), testing::HasSubstr("  multiply uJ  "));
  EXPECT_THAT(ToHtml(ExampleTable()), testing::HasSubstr("multiplications alone"));
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

// The table of the error by layer; powers of ten give whole decibels.
AccuracyTable TableWithLayers() {
  AccuracyTable table = ExampleTable();
  LayerErrors errors;
  errors.images = 2;
  errors.exact = ScoreCount{.samples = 2, .labels = 2, .correct = 2};
  errors.all = {.outputs = {{.signal = 1000, .noise = 1}},
                .scores = ScoreCount{.samples = 2, .labels = 2, .correct = 1}};
  errors.layers.push_back(
      {.name = "image",
       .operation = "input",
       .values = {{.value = "image",
                   .is_constant = false,
                   .type = "int8 per_tensor",
                   .own = {.signal = 10, .noise = 0},
                   .so_far = NoisePower{.signal = 10, .noise = 0}}},
       .alone = {.outputs = {{.signal = 10, .noise = 0}}, .scores = errors.exact}});
  errors.layers.push_back({.name = "conv<1>",
                           .operation = "Conv",
                           .values = {{.value = "w",
                                       .is_constant = true,
                                       .type = "mxint8",
                                       .own = {.signal = 1e5, .noise = 1},
                                       .so_far = std::nullopt},
                                      {.value = "y",
                                       .is_constant = false,
                                       .type = "mxint8",
                                       .own = {.signal = 1e4, .noise = 1},
                                       .so_far = NoisePower{.signal = 100, .noise = 1}}},
                           .alone = {.outputs = {{.signal = 1e6, .noise = 1}, {1e2, 1e-2}},
                                     .scores = errors.all.scores}});
  table.rows[1].layers = errors;
  table.rows[1].accuracy->confusion.emplace().counts = {{{0, 0}, 897}, {{0, 1}, 60}, {{1, 0}, 43}};
  return table;
}

TEST(AccuracyTable, TextHasALineForEachValueOfALayer) {
  const std::string text = ToText(TableWithLayers());
  EXPECT_NE(text.find("\nint8: error by layer on 2 images\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("image    input     image  int8 per_tensor    exact    exact    exact         "
                "0.00\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("conv<1>  Conv      w      mxint8           50.0 dB           40.0 dB        "
                      "50.00\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("                   y      mxint8           40.0 dB  20.0 dB\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("With all layers quantised the result has 30.0 dB and loses 50.00 points of "
                      "accuracy; alone, conv<1> (40.0 dB) costs it most.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    0          1     60         6.3 %\n"), std::string::npos) << text;
}

TEST(AccuracyTable, ResultsThatAreExactOrBetter) {
  AccuracyTable table = TableWithLayers();
  LayerErrors& errors = *table.rows[1].layers;
  errors.all.outputs = {{.signal = 1, .noise = 0}};
  errors.exact->correct = 1;
  errors.all.scores->correct = 2;
  EXPECT_NE(ToText(table).find("With all layers quantised the result is exact and gains 50.00 "
                               "points of accuracy"),
            std::string::npos)
      << ToText(table);
}

// Noise without signal, an infinite error, and a ratio that rounds to zero from below.
TEST(AccuracyTable, RatiosThatAreNoneOrNearZero) {
  AccuracyTable table = TableWithLayers();
  std::vector<ValueError>& values = table.rows[1].layers->layers[1].values;
  values[1].own = {.signal = 1, .noise = 1.001};
  values[1].so_far = NoisePower{.signal = 0, .noise = 1};
  EXPECT_NE(ToText(table).find("y      mxint8            0.0 dB       -\n"), std::string::npos)
      << ToText(table);
  values[1].own = {.signal = 1, .noise = std::numeric_limits<double>::infinity()};
  EXPECT_NE(ToText(table).find("y      mxint8                 -       -\n"), std::string::npos)
      << ToText(table);
  EXPECT_EQ(WellFormedFault(ToHtml(table)), "");
  const auto json = nlohmann::json::parse(ToJson(table));
  const auto& written = json["rows"][1]["by_layer"]["layers"][1]["values"][1];
  EXPECT_TRUE(written["own_sqnr_db"].is_null());
  EXPECT_TRUE(written["so_far_sqnr_db"].is_null());
}

TEST(AccuracyTable, SaysHowManyConfusionsItDoesNotList) {
  Confusion confusion;
  for (int64_t label = 0; label < 15; ++label) confusion.counts[{label, 15}] = 20 - label;
  EXPECT_THAT(ConfusionText(confusion), testing::HasSubstr("\nand 3 others (--json has all)\n"));
  EXPECT_THAT(ConfusionHtml(confusion),
              testing::HasSubstr("<p>and 3 others (--json has all).</p>"));
  confusion.counts.erase(confusion.counts.begin(), std::next(confusion.counts.begin(), 3));
  EXPECT_THAT(ConfusionText(confusion), testing::Not(testing::HasSubstr("others")));
}

TEST(AccuracyTable, JsonHasLayersAndConfusion) {
  const auto json = nlohmann::json::parse(ToJson(TableWithLayers()));
  EXPECT_FALSE(json["rows"][2].contains("by_layer"));
  const auto& layers = json["rows"][1]["by_layer"];
  EXPECT_EQ(layers["images"], 2);
  EXPECT_EQ(layers["fp32_correct"], 2);
  EXPECT_NEAR(layers["all"]["output_sqnr_db"].get<double>(), 30, 1e-9);
  EXPECT_EQ(layers["all"]["points_lost"], 50);
  EXPECT_TRUE(layers["layers"][0]["values"][0]["own_sqnr_db"].is_null());
  const auto& conv = layers["layers"][1];
  EXPECT_EQ(conv["operator"], "Conv");
  EXPECT_NEAR(conv["alone"]["output_sqnr_db"].get<double>(), 40, 1e-9) << "the least output";
  EXPECT_NEAR(conv["values"][0]["own_sqnr_db"].get<double>(), 50, 1e-9);
  EXPECT_TRUE(conv["values"][0]["so_far_sqnr_db"].is_null());
  EXPECT_NEAR(conv["values"][1]["so_far_sqnr_db"].get<double>(), 20, 1e-9);
  const nlohmann::json confusion = {{{"label", 0}, {"answer", 0}, {"count", 897}},
                                    {{"label", 0}, {"answer", 1}, {"count", 60}},
                                    {{"label", 1}, {"answer", 0}, {"count", 43}}};
  EXPECT_EQ(json["rows"][1]["confusion"], confusion);
}

TEST(AccuracyTable, PageHasAMarkForEachFigureOfALayer) {
  const std::string page = ToHtml(TableWithLayers());
  EXPECT_EQ(WellFormedFault(page), "");
  const auto count = [&page](std::string_view part) {
    size_t found = 0;
    for (size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_NE(page.find("<title>w</title>conv&lt;1&gt; weights<"), std::string::npos);
  EXPECT_NE(page.find("<title>y</title>conv&lt;1&gt; result<"), std::string::npos);
  EXPECT_EQ(count("<circle class=\"u2\""), 1u) << "y; the exact figures have no place on the axis";
  EXPECT_EQ(count("<rect class=\"u3\" x="), 1u) << "conv<1> alone";
  // The heat map: correct answers in one colour, wrong ones in another.
  EXPECT_EQ(count("<rect class=\"u5\" fill-opacity"), 2u);
  EXPECT_EQ(count("<rect class=\"u1\" fill-opacity"), 1u);
}

}  // namespace
}  // namespace kiln
