"""Small model files."""

PENDULUM = """<mujoco model="pendulum"><option timestep="0.01" integrator="RK4"/><worldbody>
<body name="rod"><joint name="pin" type="hinge" axis="0 1 0" damping="{damping}"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02"/></body></worldbody></mujoco>"""

LINKAGE = """<mujoco model="linkage"><option timestep="0.002" integrator="RK4"/><worldbody>
<body name="crank"><joint name="crank" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01"/>
<body name="coupler" pos="0.1 0 0"><joint name="knee" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0.2" size="0.01"/></body></body>
<body name="rocker" pos="0.3 0 0"><joint name="rocker" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.01"/></body></worldbody>
<equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.2 0 0.2"/></equality>
<keyframe><key name="turning" qpos="0 0 0" qvel="9 0 0"/></keyframe></mujoco>"""
