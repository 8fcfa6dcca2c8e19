"""The compiled part of polykern's real federation. Use it through polykern: `polykern.Agent`, `polykern.Server`."""
