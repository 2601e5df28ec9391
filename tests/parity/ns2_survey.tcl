# The dumbbell of `aqm-survey` in ns-2. Prints one row of `ns2_survey.csv` (see `ns2_survey.py`).
#
#   ns ns2_survey.tcl ./libsurvey.so DRR ledbat 4 400 5 as-published 11 1 5 0.1 ns2 1
#
# Arguments: the library of `ns2_survey.cc`, queue, congestion control of the low-priority flows (`lp-no-timestamps`: `lp`,
# and no flow has TCP timestamps), rate in Mbit/s, limit in packets, number of Reno flows, mode (with equal-limits, SFQ and
# DRR have the limit too), the number of the first sender's node and the step to the next, the start of the low-priority flows
# in seconds, the largest random delay of each start in seconds, TCP (`linux-timeout`: the timeout of Linux, first 1 s;
# `linux-recovery`: also ssthresh as the window during recovery), and the seed. With a step of 1, senders and then receivers have
# consecutive numbers, which SFQ and DRR hash; with 2, a receiver follows each sender. RTT 52 ms: 20 ms on the bottleneck and 3 ms
# on each side.

lassign $argv library kind ccp rate limit wld mode first step start jitter version seed
load $library Survey
set stop 60.0
set flows 10
set timestamps [expr {$ccp ne "lp-no-timestamps"}]
set low_ca [expr {$timestamps ? $ccp : "lp"}]

if {$mode eq "equal-limits"} {
    Queue/SFQ set maxqueue_ $limit
    Queue/DRR set blimit_ [expr {1500 * $limit}]
}

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
while {[$right id] + 1 < $first && [[$ns node] id] + 1 < $first} {}
$ns duplex-link $left $right ${rate}Mb 20ms $kind
$ns queue-limit $left $right $limit
set monitor [$ns makeflowmon Fid]
$monitor set-pkts-integrator [new Integrator]
$ns attach-fmon [$ns link $left $right] $monitor

set random [new RNG]
$random seed $seed
[set defaultRNG] seed [expr {7919 + $seed}]
for {set i 0} {$i < $flows} {incr i} {
    set sender($i) [$ns node]
    if {$step == 2} {
        set receivers($i) [$ns node]
    }
}
for {set i 0} {$i < $flows} {incr i} {
    set receiver [expr {$step == 2 ? $receivers($i) : [$ns node]}]
    $ns duplex-link $sender($i) $left 100Mb 3ms DropTail
    $ns duplex-link $right $receiver 100Mb 3ms DropTail
    foreach {a b} [list $sender($i) $left $left $sender($i) $right $receiver $receiver $right $right $left] {
        $ns queue-limit $a $b 100000
    }
    if {$version eq "ns2"} {
        set tcp [new Agent/TCP/Linux]
    } else {
        set tcp [new Agent/TCP/Linux/LinuxTimeout]
        $tcp set rtxcur_init_ 1.0
    }
    $tcp set packetSize_ 1460
    $tcp set window_ 100000
    $tcp set windowInit_ 2
    $tcp set minrto_ 0.2
    $tcp set timestamps_ $timestamps
    $tcp set fid_ $i
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ $timestamps
    $ns attach-agent $sender($i) $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    set low [expr {$i >= $wld}]
    $ns at 0 "$tcp select_ca [expr {$low ? $low_ca : {reno}}]"
    if {$version eq "linux-recovery"} {
        $ns at 0 "$tcp recover_to_ssthresh"
    }
    set at [expr {($low ? $start : 0) + [$random uniform 0 $jitter]}]
    $ns at $at "[$tcp attach-app FTP] start"
}

# Jain's index in percent.
proc jain {rates} {
    set sum 0.0
    set squares 0.0
    foreach rate $rates {
        set sum [expr {$sum + $rate}]
        set squares [expr {$squares + double($rate) * $rate}]
    }
    return [share [expr {$sum * $sum}] [expr {[llength $rates] * $squares}]]
}

# Percent; empty without a whole.
proc share {part whole} {
    if {$whole > 0} {
        return [format %.6g [expr {100.0 * $part / $whole}]]
    }
}

proc finish {} {
    global argv monitor wld rate stop
    foreach class {tcp ccp all} {
        set rates($class) {}
        set arrivals($class) 0
        set drops($class) 0
    }
    foreach flow [$monitor flows] {
        foreach class [list [expr {[$flow set flowid_] < $wld ? "tcp" : "ccp"}] all] {
            lappend rates($class) [$flow set pdepartures_]
            incr arrivals($class) [expr {int([$flow set parrivals_])}]
            incr drops($class) [expr {int([$flow set pdrops_])}]
        }
    }
    set integral [$monitor get-pkts-integrator]
    $integral newpoint $stop [$monitor set pkts_]
    set bytes [$monitor set bdepartures_]
    set sum(tcp) [::tcl::mathop::+ {*}$rates(tcp)]
    set sum(all) [::tcl::mathop::+ {*}$rates(all)]
    set row [lrange $argv 1 end]
    lappend row [share [expr {$bytes * 8e-6}] [expr {$rate * $stop}]] [share $sum(tcp) $sum(all)]
    lappend row [format %.6g [expr {[$integral set sum_] / $stop}]] [jain $rates(all)] [jain $rates(tcp)] [jain $rates(ccp)]
    foreach class {all tcp ccp} {
        lappend row [share $drops($class) $arrivals($class)]
    }
    puts [join $row ,]
    exit 0
}

$ns at $stop finish
$ns run
