// Writes the course of a training as CSV and SVG.

#include "kiln/targets/cgra/learn/training.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::cgra {

std::string CurveCsv(const std::vector<CurvePoint>& curve) {
  std::string out =
      "iteration,steps,reward,mapped,latency_over_bound,entropy,policy_loss,value_loss\n";
  for (const CurvePoint& point : curve) {
    out += fmt::format("{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f}\n", point.iteration,
                       point.steps, point.reward, point.mapped, point.latency, point.entropy,
                       point.policy_loss, point.value_loss);
  }
  return out;
}

std::string CurveSvg(const std::vector<CurvePoint>& curve) {
  constexpr double kWidth = 640, kHeight = 280, kLeft = 56, kRight = 56, kTop = 24, kBottom = 40;
  double most_steps = 1, most_latency = 1.1;
  for (const CurvePoint& point : curve) {
    most_steps = std::max(most_steps, static_cast<double>(point.steps));
    most_latency = std::max(most_latency, point.latency);
  }
  const auto x = [&](double steps) {
    return kLeft + (kWidth - kLeft - kRight) * steps / most_steps;
  };
  const auto y = [&](double share) { return kTop + (kHeight - kTop - kBottom) * (1 - share); };
  std::string mapped, latency;
  for (const CurvePoint& point : curve) {
    const auto at = static_cast<double>(point.steps);
    mapped += fmt::format("{:.1f},{:.1f} ", x(at), y(point.mapped));
    if (point.latency <= 0) continue;
    latency += fmt::format("{:.1f},{:.1f} ", x(at), y((point.latency - 1) / (most_latency - 1)));
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  for (int tick = 0; tick <= 4; ++tick) {
    const double share = tick / 4.0;
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#dddddd\"/>\n"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#1f6fb4\">{5:.0f} %</text>\n"
        "<text x=\"{6}\" y=\"{4:.1f}\" fill=\"#c0504d\">{7:.2f}</text>\n",
        kLeft, kWidth - kRight, y(share), kLeft - 6, y(share) + 4, share * 100, kWidth - kRight + 6,
        1 + share * (most_latency - 1));
  }
  out += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"1.5\"/>\n"
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#c0504d\" stroke-width=\"1.5\"/>\n"
      "<text x=\"{}\" y=\"16\" fill=\"#1f6fb4\">episodes that map all instructions</text>\n"
      "<text x=\"{}\" y=\"16\" text-anchor=\"end\" fill=\"#c0504d\">latency over its bound</text>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">steps of episodes, to "
      "{:.0f}</text>\n</svg>\n",
      mapped, latency, kLeft, kWidth - kRight, kWidth / 2, kHeight - 12, most_steps);
  return out;
}

}  // namespace kiln::cgra
