#include "polykern/net/agent/agent_state.h"

#include <span>

#include <google/protobuf/stubs/logging.h>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/io/files.h"
#include "polykern/v1/agent_state.pb.h"

namespace polykern {
namespace {

constexpr std::uint32_t kFormat = 6;
constexpr std::uint32_t kFirstFormatWithInput = 2;
constexpr std::uint32_t kFirstFormatWithSamples = 3;
constexpr std::uint32_t kFirstFormatWithLabels = 4;
constexpr std::uint32_t kFirstFormatWithInterval = 5;
constexpr std::uint32_t kFirstFormatWithMessages = 6;
constexpr std::uint32_t kFirstFormatWithEnds = 6;  // of intervals that are not around a prediction

std::string BytesOf(const google::protobuf::RepeatedField<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          static_cast<std::size_t>(numbers.size()) * sizeof(double)};
}

std::string SumOf(const std::string& bytes) {
  const auto sum = Sha256(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(sum.data()), sum.size()};
}

/// Over what the fields hold, whatever order a map was written in.
std::string SumOf(const v1::AgentState& message) {
  std::string all;
  const auto add = [&](const std::string& text) {
    all += std::to_string(text.size()) + ":" + text;
  };
  const std::map<std::string, std::string> configuration(message.configuration().begin(),
                                                         message.configuration().end());
  for (const auto& [name, value] : configuration) {
    add(name);
    add(value);
  }
  for (const std::uint64_t number : {message.client(), message.answered(), message.position()}) {
    add(std::to_string(number));
  }
  add(BytesOf(message.weights()));
  add(message.update());
  add(message.model());
  if (message.format() >= kFirstFormatWithInput) {
    add(std::to_string(message.input_bytes()));
    add(std::to_string(message.input_sum()));
  }
  if (message.format() >= kFirstFormatWithSamples) {
    add(std::to_string(message.first_sample()));
    add({reinterpret_cast<const char*>(message.sample_inputs().data()),
         static_cast<std::size_t>(message.sample_inputs_size()) * sizeof(float)});
    add(BytesOf(message.sample_labels()));
  }
  if (message.format() >= kFirstFormatWithLabels) {
    add(BytesOf(message.recent_labels()));
  }
  if (message.format() >= kFirstFormatWithInterval) {
    add(BytesOf(message.interval()));
    add(BytesOf(message.input_means()));
    add(BytesOf(message.ahead()));
  }
  if (message.format() >= kFirstFormatWithMessages) {
    for (const std::uint64_t one : message.messages()) add(std::to_string(one));
  }
  return SumOf(all);
}

/// The oldest that can say it: an older program may read it.
std::uint32_t FormatOf(const AgentState& state) {
  if (!state.position.messages.empty()) return kFirstFormatWithMessages;
  if (!state.interval.empty() || !state.position.ahead.empty()) return kFirstFormatWithEnds;
  if (!state.position.means.empty()) return kFirstFormatWithInterval;
  if (!state.position.labels.empty()) return kFirstFormatWithLabels;
  return state.samples.y.empty() ? kFirstFormatWithInput : kFirstFormatWithSamples;
}

}  // namespace

void WriteAgentState(const std::string& path, const AgentState& state) {
  v1::AgentState message;
  message.set_format(FormatOf(state));
  message.mutable_configuration()->insert(state.configuration.begin(), state.configuration.end());
  message.set_client(state.client);
  message.set_answered(state.next_step);
  message.set_position(state.position.line);
  message.set_input_bytes(state.position.bytes);
  message.set_input_sum(state.position.sum);
  message.mutable_weights()->Add(state.private_state.begin(), state.private_state.end());
  message.set_update(state.update);
  message.set_model(state.model);
  if (!state.samples.y.empty()) {
    message.set_first_sample(state.first_sample);
    message.mutable_sample_inputs()->Add(state.samples.x.begin(), state.samples.x.end());
    message.mutable_sample_labels()->Add(state.samples.y.begin(), state.samples.y.end());
  }
  const std::vector<double>& labels = state.position.labels;
  message.mutable_recent_labels()->Add(labels.begin(), labels.end());
  const std::vector<double>& means = state.position.means;
  message.mutable_input_means()->Add(means.begin(), means.end());
  const std::vector<double>& ahead = state.position.ahead;
  message.mutable_ahead()->Add(ahead.begin(), ahead.end());
  const std::vector<std::uint64_t>& messages = state.position.messages;
  message.mutable_messages()->Add(messages.begin(), messages.end());
  message.mutable_interval()->Add(state.interval.begin(), state.interval.end());
  message.set_sum(SumOf(message));
  ReplaceFile(path, message.SerializeAsString(), FileMode::kSecret);
}

std::optional<AgentState> ReadAgentState(const std::string& path) {
  if (!FileExists(path)) return {};
  const google::protobuf::LogSilencer quiet;
  v1::AgentState message;
  const bool parsed = message.ParseFromString(ReadWholeFile(path));
  if (parsed && message.format() > kFormat) {
    throw Error(path + ": written by a newer version of polykern; update this one");
  }
  if (!parsed || message.format() == 0 || message.sum() != SumOf(message)) {
    throw Error(path +
                ": not an agent's state, or damaged; restore a copy, "
                "or remove it to start over");
  }
  return AgentState{{message.configuration().begin(), message.configuration().end()},
                    message.client(),
                    message.answered(),
                    {message.position(),
                     message.input_bytes(),
                     message.input_sum(),
                     {message.recent_labels().begin(), message.recent_labels().end()},
                     {message.input_means().begin(), message.input_means().end()},
                     {message.ahead().begin(), message.ahead().end()},
                     {message.messages().begin(), message.messages().end()}},
                    {message.weights().begin(), message.weights().end()},
                    message.update(),
                    message.model(),
                    message.first_sample(),
                    {{message.sample_inputs().begin(), message.sample_inputs().end()},
                     {message.sample_labels().begin(), message.sample_labels().end()}},
                    {message.interval().begin(), message.interval().end()}};
}

}  // namespace polykern
