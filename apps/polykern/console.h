#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace polykern {

/// For commands that hold private keys: a crash leaves no core file, which would have them.
void LeaveNoCoreFiles();

/// For commands that run until they are told to end: from now on only sigtimedwait for what this
/// returns receives SIGTERM and SIGINT; threads that are made later inherit it.
sigset_t BlockEndings();

/// Says which of these files others than their owner can read.
void WarnOfOpenKeys(const std::vector<std::string>& paths);

/// A line of standard error for each, options spelt as a shell takes them.
void PrintNotices(const std::vector<std::string>& notices);

}  // namespace polykern
