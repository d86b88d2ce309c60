// Terms of objectives, their values, and certificates as text.
#include "kiln/targets/dataflow/fold/objective.h"

#include <cmath>

#include <fmt/format.h>

namespace kiln::dataflow {
namespace {

constexpr int64_t kWholeDevice = 1000000000;

std::vector<Term> ResourceTerms(ResourceOrder order, const Resources& limits) {
  using Kind = Term::Kind;
  const Term dsp{Kind::kResources, {1, 0, 0, 0}, "DSP"};
  const Term memory{Kind::kResources, kMemoryWeights, "memory"};
  const Term lut{Kind::kResources, {0, 0, 0, 1}, "LUT"};
  switch (order) {
    case ResourceOrder::kDspFirst:
      return {dsp, memory, lut};
    case ResourceOrder::kMemoryFirst:
      return {memory, dsp, lut};
    case ResourceOrder::kLutFirst:
      return {lut, dsp, memory};
    case ResourceOrder::kDeviceShare:
      break;
  }
  return {Term{Kind::kResources, DeviceShareWeights(limits), "device share"}};
}

// Says why no fold is faster than the bound.
std::string Refutation(const FoldProblem& problem, const FoldCertificate& certificate) {
  const auto name = [&](int layer) {
    return layer < 0 ? std::string("?") : problem.layers[static_cast<size_t>(layer)].name;
  };
  switch (certificate.source) {
    case BoundSource::kNone:
      break;
    case BoundSource::kBottleneck:
      return fmt::format("layer {} takes {} cycles at the fastest fold that fits",
                         name(certificate.layer), certificate.cycles_bound);
    case BoundSource::kCoupling:
      return fmt::format("within {} cycles no fold gives layer {} words that it can take",
                         certificate.next_cycles, name(certificate.layer));
    case BoundSource::kResource:
      return fmt::format("{} cycles would need {} {}, the device has {}", certificate.next_cycles,
                         certificate.needs, ResourceName(certificate.resource), certificate.limit);
    case BoundSource::kCombination:
      return fmt::format("within {} cycles no fold meets all limits together",
                         certificate.next_cycles);
    case BoundSource::kExhausted:
      return fmt::format("the work budget ended before {} cycles were refuted",
                         certificate.next_cycles);
  }
  return fmt::format("no fold is faster than {} cycles", certificate.cycles_bound);
}

}  // namespace

Resources DeviceShareWeights(const Resources& limits) {
  Resources weights{};
  for (size_t kind = 0; kind < limits.size(); ++kind) {
    const int64_t limit = limits[kind];
    if (limit == kUnlimited || limit == 0) continue;
    weights[kind] = limit / 2 > kWholeDevice ? 0 : (kWholeDevice + limit / 2) / limit;
  }
  return weights;
}

Status CheckObjective(const Objective& objective) {
  if (objective.target_cycles >= 1) return OkStatus();
  return ErrorAt("", "target", fmt::format("is {} cycles", objective.target_cycles),
                 "use 1 or more");
}

int64_t Weighted(const Resources& weights, const Resources& amounts) {
  __int128 sum = 0;
  for (size_t kind = 0; kind < weights.size(); ++kind) {
    sum += static_cast<__int128>(weights[kind]) * amounts[kind];
  }
  constexpr int64_t kMost = int64_t{1} << 58;
  return sum > kMost ? kMost : static_cast<int64_t>(sum);
}

std::vector<Term> TermsOf(const Objective& objective, const Resources& limits) {
  using Kind = Term::Kind;
  const Term period{Kind::kPeriod, {}, "L_max"}, idle{Kind::kIdle, {}, "L_sum"};
  std::vector<Term> terms = ResourceTerms(objective.order, limits);
  switch (objective.goal) {
    case Goal::kThroughput:
      terms.insert(terms.begin(), {period, idle});
      return terms;
    case Goal::kLatency:
      terms.insert(terms.begin(), Term{Kind::kLatency, {}, "latency"});
      break;
    case Goal::kResources:
      break;
  }
  terms.insert(terms.end(), {period, idle});
  return terms;
}

int64_t ValueOf(const Term& term, const FoldMetrics& metrics) {
  switch (term.kind) {
    case Term::Kind::kPeriod:
      return metrics.l_max;
    case Term::Kind::kIdle:
      return metrics.l_sum;
    case Term::Kind::kLatency:
      return metrics.latency;
    case Term::Kind::kResources:
      break;
  }
  return Weighted(term.weights, metrics.resources);
}

std::vector<int64_t> ScoresOf(const Objective& objective, const Resources& limits,
                              const FoldMetrics& metrics) {
  std::vector<int64_t> scores;
  for (const Term& term : TermsOf(objective, limits)) scores.push_back(ValueOf(term, metrics));
  return scores;
}

std::string Describe(const FoldProblem& problem, const FoldCertificate& certificate) {
  if (certificate.terms.empty()) {
    return fmt::format("{} among 10^{:.1f} folds",
                       certificate.optimal ? "no valid fold is" : "no fold was found",
                       certificate.log10_folds);
  }
  std::string text = fmt::format("optimal among 10^{:.1f} folds", certificate.log10_folds);
  if (!certificate.optimal) {
    text = fmt::format("best found among 10^{:.1f} folds", certificate.log10_folds);
    for (const TermBound& term : certificate.terms) {
      if (term.value == term.bound) continue;
      const double gap =
          term.bound > 0
              ? 100.0 * (static_cast<double>(term.value) / static_cast<double>(term.bound) - 1)
              : 100.0;
      text += fmt::format(", {} {} with bound {} (gap {:.1f} %)", term.name, term.value, term.bound,
                          gap);
      break;
    }
  }
  return text + "; " + Refutation(problem, certificate);
}

double Log10Folds(const FoldProblem& problem) {
  double sum = 0;
  for (const Layer& layer : problem.layers) {
    sum += std::log10(static_cast<double>(layer.candidates.size()));
  }
  return sum;
}

}  // namespace kiln::dataflow
